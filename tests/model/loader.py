"""The loader: epochs, states, resume on another world."""

from dataclasses import replace

from . import deal
from .indexed import invalid
from .nodes import (
    Batch,
    Filter,
    Map,
    ModelError,
    Node,
    OnError,
    Repeat,
    Shard,
    Unbatch,
    find_shard,
    fingerprint,
    is_border,
    is_indexed,
    length,
    plan,
)
from .stream import make_stage


class Loader:
    """Each iter() is the next epoch; the first after load_state_dict continues there."""

    def __init__(self, root: Node):
        self.root = plan(root)
        self.upcoming = {"fingerprint": fingerprint(self.root), "epoch": 0}

    def __iter__(self):
        kind = IndexedRun if is_indexed(self.root) else StreamRun
        self.run = kind(self.root, self.upcoming)
        if self.run.resumed and self.run.nothing_left():  # nothing left for this rank: the same as finished
            self.run = kind(
                self.root, {"fingerprint": self.upcoming["fingerprint"], "epoch": self.run.epoch + 1}
            )
        self.upcoming = {"fingerprint": self.upcoming["fingerprint"], "epoch": self.run.epoch + 1}
        return self.run

    def set_epoch(self, epoch: int) -> None:
        self.upcoming = {"fingerprint": self.upcoming["fingerprint"], "epoch": epoch}

    def load_state_dict(self, state: dict) -> None:
        if state["fingerprint"] != self.upcoming["fingerprint"]:
            raise ModelError("state: of another pipeline")
        shard = find_shard(self.root)
        for word in ("world", "rank"):
            if word in state and state[word] != getattr(shard, word):
                raise ModelError(
                    f"state: of {word} {state[word]}, this loader's is {getattr(shard, word)}; states of "
                    "all ranks may be merged if the pipeline allows it"
                )
        self.upcoming = dict(state)

    def epoch(self, epoch: int) -> list:
        """All elements of one epoch."""
        self.set_epoch(epoch)
        return list(self)


class Run:
    """One epoch's iteration, from a state on."""

    def __init__(self, root: Node, state: dict):
        self.root, self.shard, self.epoch = root, find_shard(root), state["epoch"]
        self.fingerprint = state["fingerprint"]
        self.resumed = len(state) > 2
        self.begin(state)

    def __iter__(self):
        return self

    def state_dict(self) -> dict:
        state = {"fingerprint": self.fingerprint, "epoch": self.epoch}
        if self.finished():
            return state | {"epoch": self.epoch + 1}
        if (
            self.delivered == 0 and not self.resumed
        ):  # the beginning of an epoch is the same for all ranks and worlds
            return state
        return state | self.place()


class IndexedRun(Run):
    def begin(self, state):
        self.bound = deal.world_bound(self.root)
        consumed = state.get("consumed", 0)
        if self.bound:  # a count, not a prefix of the order: every rank's elements since the epoch began
            self.unit = (
                deal.unit(deal.above_shard(self.root) + [self.shard] + below(self.shard)) * self.shard.world
            )
            self.start, self.delivered = 0, consumed // self.unit
        else:
            self.unit = deal.unit(below(self.shard))
            self.start, self.delivered = consumed // self.unit, 0

    def finished(self) -> bool:
        return self.delivered >= deal.count(self.root, self.start)

    nothing_left = finished

    def __next__(self):
        if self.finished():
            raise StopIteration
        self.delivered += 1
        return deal.element(self.root, self.delivered - 1, self.epoch, self.start)

    def place(self) -> dict:
        if self.bound:
            return {"consumed": self.delivered * self.unit, "world": self.shard.world}
        return {"consumed": deal.consumed(self.root, self.delivered, self.start) * self.unit}


def below(shard: Shard) -> list[Node]:
    """The nodes below the shard, along the first inputs."""
    path = [shard]
    while hasattr(path[-1], "input"):
        path.append(path[-1].input)
    return path


class StreamRun(Run):
    """Runs the stages; with steps=, a rank whose outputs end wraps over its own from the beginning of the epoch."""

    def begin(self, state):
        self.delivered, self.round = state.get("delivered", 0), state.get("round", 0)
        self.first_round = state.get(
            "first_round"
        )  # where it ended: needed by merge_states for a rank that wraps
        self.stage = make_stage(self.root, self.epoch, self.round, state.get("cursor"))
        self.since_wrap = 1 if state.get("cursor") else 0  # a resumed round has delivered something
        self.ended = False
        self.bound = deal.world_bound(self.root)
        above = deal.above_shard(self.root)
        uneven_passes = any(isinstance(n, Repeat) for n in above) and length(self.shard.input) is None
        self.own = uneven_passes or any(is_border(n) for n in above)  # positions of ranks differ

    def finished(self) -> bool:
        return self.ended if self.shard.steps is None else self.delivered >= self.shard.steps

    def nothing_left(self) -> bool:
        return self.shard.steps is not None and self.finished()

    def __next__(self):
        if self.finished():
            raise StopIteration
        while (element := self.stage.pull()) is None:
            if self.shard.steps is None:
                self.ended = True
                raise StopIteration
            if self.round and not self.since_wrap:
                raise ModelError("shard: this rank has no elements to wrap over")
            if self.round == 0:
                self.first_round = self.stage.cursor()
            self.round, self.since_wrap = self.round + 1, 0
            self.stage = make_stage(self.root, self.epoch, self.round)
        self.delivered, self.since_wrap = self.delivered + 1, self.since_wrap + 1
        return invalid(element) if self.round and self.shard.even == "pad" else element

    def place(self) -> dict:
        place = {"delivered": self.delivered, "cursor": self.stage.cursor()}
        if self.round:
            place |= {"round": self.round, "first_round": self.first_round}
        if self.own or self.round or self.out_of_step():
            place |= {"rank": self.shard.rank, "world": self.shard.world}
        elif self.bound:
            place["world"] = self.shard.world
        return place

    def out_of_step(self) -> bool:
        """The shared outputs ended within a round, so ranks differ from here on."""
        stage = self.stage
        while not isinstance(stage.node, Shard):
            stage = stage.input
        return stage.ended and self.shard.world > 1


def merge_states(root: Node, states: list[dict]) -> dict:
    """One state for any world from those of all ranks, taken after the same number of steps."""
    root = plan(root)
    if all(s == states[0] and "rank" not in s and "world" not in s for s in states):
        return states[0]  # fits every world: the beginning of an epoch, or outputs that all ranks share
    world = states[0].get("world")
    ranks = sorted(s.get("rank", -1) for s in states)
    if ranks != list(range(world or 0)) or len({s["delivered"] for s in states}) > 1:
        raise ModelError("merge_states: wants the states of all ranks, taken after the same number of steps")
    states = sorted(states, key=lambda s: s["rank"])
    merged = {k: states[0][k] for k in ("fingerprint", "epoch", "delivered")}
    above = deal.above_shard(root)
    if any(isinstance(n, Repeat) for n in above):
        raise ModelError("merge_states: the passes of a repeat above the shard differ from rank to rank")
    if not any(is_border(n) for n in above):  # the shared outputs have ended on all ranks: all begin to wrap
        if deal.world_bound(root):
            raise ModelError("merge_states: take and skip above a batch count this rank's batches")
        return merged | {"round": 1}
    if not is_indexed(find_shard(root).input):
        raise ModelError("merge_states: the shard itself stands after a border")
    allowed = all(isinstance(n, (Batch, Filter, Map, OnError, Unbatch)) for n in above)
    if not allowed or sum(isinstance(n, Unbatch) for n in above) > 1:
        raise ModelError("merge_states: only filters, maps, batches and one unbatch may stand above the deal")
    return merged | {"cursor": _nest(above, _merge_deals(root, states))}


def _merge_deals(root: Node, states: list[dict]) -> dict:
    """The union of inputs that the ranks consumed; an input with children left is kept, with the number delivered."""
    consumed, partial = set(), {}
    for state in states:
        deal_stage, emitted = _last_input(root, state)
        mine = deal_stage.position - bool(emitted)  # inputs fully consumed by this rank
        consumed |= set(range(deal_stage.base)) | set(deal_stage.done)
        consumed |= {deal_stage.position_of(p) for p in range(mine)}
        known = deal_stage.partial | ({deal_stage.position_of(mine): emitted} if emitted else {})
        partial = {g: max(partial.get(g, 0), known.get(g, 0)) for g in partial | known}
    base = 0
    while base in consumed:
        base += 1
    partial = {g: n for g, n in partial.items() if g not in consumed}
    return {"base": base, "done": sorted(g for g in consumed if g > base), "partial": sorted(partial.items())}


def _last_input(root: Node, state: dict):
    """This rank's assignment stage, after the input with children left to deliver, and the number delivered."""
    node, cursor = _for_rank(root, state), state["first_round"] if state.get("round") else state["cursor"]
    while not isinstance(node, (Shard, Unbatch)):
        node, cursor = node.input, cursor["input"]
    emitted = cursor.get("emitted", 0)
    if isinstance(node, Unbatch):
        node, cursor = node.input, cursor["input"]
    stage = make_stage(node, state["epoch"], 0, cursor, exact=False)
    if emitted:
        stage.pull()
    while not isinstance(stage.node, Shard):
        stage = stage.input
    return stage, emitted


def _for_rank(node: Node, state: dict) -> Node:
    if isinstance(node, Shard):
        return replace(node, rank=state["rank"], world=state["world"])
    return replace(node, input=_for_rank(node.input, state))


def _nest(above: list[Node], cursor: dict) -> dict:
    for _ in above:
        cursor = {"input": cursor}
    return cursor
