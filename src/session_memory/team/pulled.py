"""What came from others: one file for each project, with the place up to which it was pulled.

Items and cursor are replaced together, so that a pull that is cut off goes on where it stood. The
files can be deleted at any time: the next pull brings them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.hashing import blake2b
from session_memory.core.sharing.wire import Deleted, Pulled, SharedItem
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.team.membership import folder

PULLED = "pulled"


class PulledProject(msgspec.Struct):
    """The lessons of others in one project."""

    project: str
    hub: str
    cursor: str | None = None
    complete: bool = True
    """False while a pull that started over is not complete."""
    items: dict[str, SharedItem] = {}
    """By member and key."""
    before: dict[str, SharedItem] = {}
    """What was there before a pull that started over; it counts until that is complete."""

    def take(self, page: Pulled) -> None:
        """Apply one page."""
        if page.restart:
            self.before = {**self.before, **self.items}
            self.items, self.complete = {}, False
        for deleted in page.deleted:
            _delete(self.items, deleted)
            _delete(self.before, deleted)
        for shared in page.items:
            name = f"{shared.member} {shared.item.key}"
            earlier = self.items.get(name)
            if earlier is None or _order(earlier) <= _order(shared):
                self.items[name] = shared
        self.cursor = page.cursor
        if not page.more:
            self.before, self.complete = {}, True

    @property
    def all(self) -> Iterable[SharedItem]:
        """Everything that is known of others."""
        return {**self.before, **self.items}.values()


def _order(shared: SharedItem) -> tuple[int, str]:
    return shared.item.rank, shared.item.hash


def _delete(items: dict[str, SharedItem], deleted: Deleted) -> None:
    for name, shared in list(items.items()):
        item = shared.item
        if shared.member != deleted.member:
            continue
        if deleted.target == "member":  # all of it, whatever its rank
            del items[name]
            continue
        named = item.key if deleted.target == "item" else item.session
        if named == deleted.key and item.rank <= deleted.rank:
            del items[name]


def read_pulled(data: Path, project: str, hub: str) -> PulledProject:
    """What was pulled of a project; a file that cannot be read is pulled again."""
    try:
        pulled = msgspec.json.decode(_path(data, project).read_bytes(), type=PulledProject)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return PulledProject(project, hub)
    except OSError as error:
        raise Refused(f"cannot read {_path(data, project)}: {error}") from None
    return pulled if pulled.hub == hub else PulledProject(project, hub)


def write_pulled(data: Path, pulled: PulledProject) -> None:
    """Keep it."""
    private_dir(folder(data) / PULLED)
    replace_file(_path(data, pulled.project), msgspec.json.encode(pulled))


def all_pulled(data: Path) -> Iterator[PulledProject]:
    """Every project of which something was pulled."""
    for path in sorted((folder(data) / PULLED).glob("*.json")):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=PulledProject)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue  # the next pull makes it again


def drop_pulled(data: Path, unwanted: Callable[[PulledProject], bool]) -> None:
    """Delete the copies of whole projects."""
    for path in sorted((folder(data) / PULLED).glob("*.json")):
        try:
            pulled = msgspec.json.decode(path.read_bytes(), type=PulledProject)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            pulled = None
        if pulled is None or unwanted(pulled):
            path.unlink(missing_ok=True)


def _path(data: Path, project: str) -> Path:
    name = blake2b(project.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return folder(data) / PULLED / f"{name}.json"
