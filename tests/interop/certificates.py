"""Certificates for the interop tests, made anew by openssl and the JDK's keytool: as files in PEM, and as the stores of a JVM."""
import os
import subprocess

from nodes import Failed

PASSWORD = "changeme"


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stdout}{done.stderr}")


class Certificates:
    """A CA, and one certificate with its key for the nodes of 127.0.0.1. RSA: a JVM's default suites want it."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        run(folder, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=CA", "-keyout", "ca.key",
            "-out", "ca.pem")
        with open(self.path("names"), "w") as file:
            file.write("subjectAltName = IP:127.0.0.1\n")
        run(folder, "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=node", "-keyout", "node.key", "-out", "node.csr")
        run(folder, "openssl", "x509", "-req", "-in", "node.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1",
            "-extfile", "names", "-out", "node.pem")
        run(folder, "openssl", "pkcs12", "-export", "-in", "node.pem", "-inkey", "node.key", "-certfile", "ca.pem", "-name", "node",
            "-passout", "pass:" + PASSWORD, "-out", "keystore")
        run(folder, "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", "ca.pem", "-keystore", "truststore", "-storetype",
            "PKCS12", "-storepass", PASSWORD)

    def path(self, name):
        return os.path.join(self.folder, name)

    def settings(self, kind, version="TLSv1.2"):
        """Of a node. Ours takes either version. A JVM's defaults are 1.2 with two suites and no look at names; with 1.3 it looks."""
        artery = "remote.artery."
        settings = [artery + "transport=tls-tcp"]
        if kind == "sherd":
            named = {"certificate": "node.pem", "key": "node.key", "ca": "ca.pem"}
            settings += [f'remote.tls.{name}="{self.path(file)}"' for name, file in named.items()]
            return settings + [f"{artery}ssl.config-ssl-engine.protocol=TLSv1.2"]
        engine = artery + "ssl.config-ssl-engine."
        settings += [f'{engine}{name}="{self.path(file)}"' for name, file in {"key-store": "keystore", "trust-store": "truststore"}.items()]
        if version == "TLSv1.2":
            return settings
        return settings + [f"{engine}protocol={version}", f"{engine}enabled-algorithms=[TLS_AES_256_GCM_SHA384]",
                           f"{engine}hostname-verification=on"]
