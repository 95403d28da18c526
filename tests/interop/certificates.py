"""Makes certificates for the interop tests with openssl and the JDK's keytool: as PEM files, and as
key stores of a JVM."""
import os
import subprocess

from nodes import Failed

PASSWORD = "changeme"


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stdout}{done.stderr}")


# The configuration that openssl needs to revoke a certificate.
LISTS = """[ca]
default_ca = lists
[lists]
database = index
default_md = sha256
default_crl_days = 2
"""


class Certificates:
    """A CA and two certificates for nodes at 127.0.0.1 and 127.0.0.2: a valid one (`node`) and a
    revoked one (`left`), with the revocation list. The keys are RSA, because a JVM's default cipher
    suites need it."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        run(folder, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=CA", "-keyout", "ca.key",
            "-out", "ca.pem")
        for name, text in (("names", "subjectAltName = IP:127.0.0.1, IP:127.0.0.2\n"), ("lists", LISTS), ("index", "")):
            with open(self.path(name), "w") as file:
                file.write(text)
        run(folder, "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", "ca.pem", "-keystore", "truststore", "-storetype",
            "PKCS12", "-storepass", PASSWORD)
        self.issue("node")
        self.issue("left")
        signs = ["openssl", "ca", "-config", "lists", "-keyfile", "ca.key", "-cert", "ca.pem"]
        run(folder, *signs, "-revoke", "left.pem")
        run(folder, *signs, "-gencrl", "-out", "crl.pem")

    def issue(self, name):
        run(self.folder, "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out",
            f"{name}.csr")
        run(self.folder, "openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
            "1", "-extfile", "names", "-out", f"{name}.pem")
        run(self.folder, "openssl", "pkcs12", "-export", "-in", f"{name}.pem", "-inkey", f"{name}.key", "-certfile", "ca.pem", "-name",
            name, "-passout", "pass:" + PASSWORD, "-out", f"{name}.store")

    def path(self, name):
        return os.path.join(self.folder, name)

    def settings(self, kind, version="TLSv1.2", name="node"):
        """Returns the settings of a node that presents the certificate of this name.

        A node of this library checks the revocation list and accepts TLS 1.2 and 1.3. A JVM's
        defaults are TLS 1.2 with two cipher suites and no check of host names. With 1.3 the
        settings switch this check on."""
        artery = "remote.artery."
        settings = [artery + "transport=tls-tcp"]
        if kind == "sherd":
            named = {"certificate": f"{name}.pem", "key": f"{name}.key", "ca": "ca.pem", "crl": "crl.pem"}
            settings += [f'remote.tls.{key}="{self.path(file)}"' for key, file in named.items()]
            return settings + [f"{artery}ssl.config-ssl-engine.protocol=TLSv1.2"]
        engine = artery + "ssl.config-ssl-engine."
        stores = {"key-store": f"{name}.store", "trust-store": "truststore"}
        settings += [f'{engine}{store}="{self.path(file)}"' for store, file in stores.items()]
        if version == "TLSv1.2":
            return settings
        return settings + [f"{engine}protocol={version}", f"{engine}enabled-algorithms=[TLS_AES_256_GCM_SHA384]",
                           f"{engine}hostname-verification=on"]
