"""A tzdata of the tests' own: a folder whose time zones and version they choose, compiled by zic."""

import pathlib
import subprocess

ZIC = "/usr/sbin/zic"


class Tzdata:
    """`hours` says which zones there are, and how many hours they are ahead of UTC."""

    def __init__(self, folder, version, **hours):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.install(version, **hours)

    @property
    def env(self):
        return {"TZDIR": str(self.folder)}

    def install(self, version, **hours):
        """As a package manager does it: the files of the zones, then the list. A zone that is not given has no file any more."""
        zones = {f"Test/{name}": offset for name, offset in hours.items()}
        source = "".join(f"Zone {name} {offset}:00 - XYZ\n" for name, offset in zones.items())
        for old in self.folder.glob("Test/*"):
            if f"Test/{old.name}" not in zones:
                old.unlink()
        subprocess.run([ZIC, "-d", self.folder, "-"], input=source.encode(), check=True)
        names = "".join(f"Z {name} {offset} - XYZ\n" for name, offset in zones.items())
        listed = self.folder / "tzdata.zi.new"
        listed.write_text(f"# version {version}\n{names}")
        listed.rename(self.folder / "tzdata.zi")
