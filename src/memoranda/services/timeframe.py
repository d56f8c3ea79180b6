"""What happened on some days: `recall_timeframe`."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.domain.access import is_bound_by_rejection, read_action, require
from memoranda.domain.day import TimeFrame, Zone
from memoranda.domain.episode import Episode, is_for_models, log_path
from memoranda.domain.scope import Viewer
from memoranda.services import episodes
from memoranda.services.stores import Stores
from memoranda.services.visibility import hides

MAX_ENTRIES, MAX_CHARACTERS = 40, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFrameResult:
    """The newest entries of some days, oldest first, their texts cut at 500 characters.

    `total` counts what the viewer may see; `left_out` what a model may not: results of tools, and what was said after
    untrusted content was read.
    """

    frame: TimeFrame
    place: Zone
    total: int
    left_out: int
    entries: tuple[Episode, ...]

    @property
    def zone(self) -> str:
        """Name of the user's time zone, whose days these are."""
        return self.place.name

    @property
    def truncated(self) -> bool:
        """Whether there are more entries than these."""
        return self.total > len(self.entries)


def recall_timeframe(stores: Stores, viewer: Viewer, frame: TimeFrame) -> TimeFrameResult:
    """Return what the log of the viewer's own scope says of these days, in the user's time zone."""
    scope = viewer.own
    require(viewer, read_action(scope), scope)
    zone, is_model = stores.zone(), is_bound_by_rejection(viewer.principal)
    wanted = {log_path(day) for day in frame.days_around}  # a log file is named by the day that its zone had then
    paths = [file.path for file in stores.log.files(scope) if file.path in wanted]
    found = [
        item for _, _, item in episodes.read_all(stores, scope, paths) if frame.first <= zone.day(item.at) <= frame.last
    ]
    shown = [item for item in found if is_for_models(item)] if is_model else found
    shown.sort(key=lambda item: (item.at, item.id))
    if is_model and stores.ledger.has_tombstones(scope):
        shown = [item for item in shown if not hides(stores, scope, item.text)]
    return TimeFrameResult(
        frame=frame, place=zone, total=len(shown), left_out=len(found) - len(shown),
        entries=tuple(shown[-MAX_ENTRIES:]),
    )  # fmt: skip
