"""Makes a CA and the certificates of nodes with the openssl command."""
import os
import subprocess

from cluster import Failed


class Keys:
    """A CA and the nodes' certificate, as files in a folder. The nodes inherit an environment that
    names these files."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        self.make_ca("ca", "the CA")
        self.make("node", "ca")
        for name, value in (("REMOTE__ARTERY__TRANSPORT", "tls-tcp"), ("REMOTE__TLS__CERTIFICATE", self.path("node.pem")),
                            ("REMOTE__TLS__KEY", self.path("node.key")), ("REMOTE__TLS__CA", self.path("ca.pem")),
                            ("REMOTE__TLS__RELOAD_AFTER", "100 ms")):
            os.environ["SHERD__" + name] = value

    def path(self, name):
        return os.path.join(self.folder, name)

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"openssl {arguments[0]}: {done.stderr}")
        return done.stdout

    def make_ca(self, name, title):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", f"/CN={title}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def make(self, name, ca, names="IP:127.0.0.1"):
        """Makes a certificate and its key. Each replaces the old file in one step, the certificate
        first."""
        self.count += 1
        with open(self.path("names"), "w") as file:
            file.write(f"subjectAltName = {names}\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN=node {self.count}",
                     "-keyout", "new.key", "-out", "new.csr")
        self.openssl("x509", "-req", "-in", "new.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "1",
                     "-extfile", "names", "-out", "new.pem")
        os.replace(self.path("new.pem"), self.path(f"{name}.pem"))
        os.replace(self.path("new.key"), self.path(f"{name}.key"))
