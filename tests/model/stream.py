"""Verbs after a border: stages that pull from each other, each with a cursor.

`pull()` returns the next element, or None at the end. `cursor()` is the state from which the run continues the same: the
position of the oldest input that is not fully consumed, and the counters of the stages above it, innermost last.
A stage is made from (node, epoch, occurrence, cursor); the cursor None is the beginning of the epoch.
"""

from collections import deque
from dataclasses import replace

from . import deal, files
from .indexed import Element, apply_map, at, epoch_of_pass, window_rows, wrapped_at, zipped
from .nodes import (
    ENDLESS,
    Batch,
    Choose,
    Concatenate,
    Filter,
    Generate,
    GroupBy,
    Interleave,
    Map,
    Mix,
    ModelError,
    Node,
    OnError,
    Pack,
    Readers,
    Repeat,
    Scan,
    Shard,
    Shuffle,
    Skip,
    Take,
    TakeWhile,
    Unbatch,
    Unique,
    Window,
    Zip,
    inputs,
    is_border,
    is_indexed,
    length,
    seed_of,
    spine,
    turns,
)
from .random import MASK32, Key, SampleId


def make_stage(node: Node, epoch: int, occurrence: int = 0, cursor=None, exact: bool = True):
    """`exact`: every border above is a window shuffle, so an assignment below it can be even."""
    if is_indexed(node):
        sharded = any(isinstance(n, Shard) for n in spine(node))
        made = PositionStage if not sharded else EvenDeal if exact else PlainDeal
    elif isinstance(node, Shard):
        made = RoundStage
    else:
        split = isinstance(node, Pack) and node.strategy == "concat_and_split"
        made = SplitStage if split else STAGES[type(node)]
    exact = exact and (not is_border(node) or isinstance(node, (Shuffle, Scan, Readers)))
    return made(node, epoch, occurrence, cursor or {}, exact)


class Stage:
    def __init__(self, node, epoch, occurrence, cursor, exact):
        self.node, self.epoch, self.occurrence, self.exact = node, epoch, occurrence, exact
        self.setup(cursor)

    def setup(self, cursor):
        self.input = self.below(cursor.get("input"))

    def below(self, cursor, node=None, epoch=None):
        return make_stage(
            node or self.node.input,
            self.epoch if epoch is None else epoch,
            self.occurrence,
            cursor,
            self.exact,
        )

    def cursor(self):
        return {"input": self.input.cursor()}


class PositionStage(Stage):
    """An indexed tree, read in order; no shard below."""

    def setup(self, cursor):
        self.position = cursor.get("position", 0)

    def pull(self):
        if self.position >= length(self.node):
            return None
        self.position += 1
        return at(self.node, self.position - 1, self.epoch, self.occurrence)

    def cursor(self):
        return {"position": self.position}


class EvenDeal(Stage):
    """An indexed tree with a shard, all borders above it window shuffles: lengths stay exact, so `even` holds here."""

    def setup(self, cursor):
        self.position = cursor.get("position", 0)

    def pull(self):
        if self.position >= length(self.node):
            return None
        self.position += 1
        return deal.element(self.node, self.position - 1, self.epoch)

    def cursor(self):
        return {"position": self.position}


class PlainDeal(Stage):
    """A shard that assigns the inputs of filter or unbatch: each once, none wrapped.

    `base` and `done` are consumed according to merged states: all positions below base, and those in done. `partial`:
    how many children of a position were delivered.
    """

    def setup(self, cursor):
        self.position = cursor.get("position", 0)  # inputs of this rank since the loader began
        self.base, self.done = cursor.get("base", 0), cursor.get("done", [])
        self.partial = dict(cursor.get("partial", []))

    def position_of(self, ordinal: int) -> int:
        """The global position of this rank's input."""
        g = self.base + ordinal * self.node.world + self.node.rank
        for taken in self.done:  # ascending
            g += taken <= g
        return g

    def pull(self):
        g = self.position_of(self.position)
        if g >= length(self.node.input):
            return None
        self.position += 1
        element = at(self.node.input, g, self.epoch, self.occurrence)
        return replace(element, emitted=self.partial[g]) if g in self.partial else element

    def cursor(self):
        merged = {"base": self.base, "done": self.done, "partial": sorted(self.partial.items())}
        return {"position": self.position, **{k: v for k, v in merged.items() if v}}


class RoundStage(Stage):
    """A shard after a border: every rank runs everything and keeps one output of each round of `world`.

    A round is pulled completely before its output is delivered, so the cursor is the same on every rank and fits any
    world. `ended`: the outputs ended within a round; from there on ranks differ.
    """

    def setup(self, cursor):
        super().setup(cursor)
        self.position = cursor.get("position", 0)  # outputs consumed over all ranks
        self.ended = False

    def pull(self):
        shard, outputs = self.node, []
        while len(outputs) < shard.world and (output := self.input.pull()) is not None:
            outputs.append(output)
        first, self.position = self.position, self.position + len(outputs)
        if len(outputs) == shard.world:
            return outputs[shard.rank]
        if length(shard.input) in (None, ENDLESS):  # steps= evens out, in the loader
            self.ended = self.ended or bool(outputs)
            return outputs[shard.rank] if shard.rank < len(outputs) else None
        if not outputs or shard.even == "drop":
            return None
        return outputs[shard.rank] if shard.rank < len(outputs) else self.wrapped(first + shard.rank)

    def wrapped(self, g: int):
        def rerun(position, occurrence):
            again = make_stage(self.node.input, self.epoch, self.occurrence + occurrence, None, self.exact)
            for _ in range(position):
                again.pull()
            return again.pull()

        return wrapped_at(self.node, g, self.epoch, rerun)

    def cursor(self):
        return {"position": self.position, "input": self.input.cursor()}


class MapStage(Stage):
    def pull(self):
        element = self.input.pull()
        return None if element is None else apply_map(self.node, element)


class FilterStage(Stage):
    def keeps(self, element) -> bool:
        return element.id.index % self.node.modulus != self.node.remainder

    def pull(self):
        while (element := self.input.pull()) is not None and not self.keeps(element):
            pass
        return element


class OnErrorStage(FilterStage):
    def keeps(self, element) -> bool:
        bad = element.id.index in self.node.bad
        if bad and self.node.policy == "raise":
            raise ModelError(f"sample {element.id.index} is bad")
        return not bad


class UnbatchStage(Stage):
    """The cursor is that of the current input while it has children left, and the number delivered."""

    def setup(self, cursor):
        super().setup(cursor)
        self.before, self.emitted = cursor.get("input"), cursor.get("emitted", 0)
        self.current = self.input.pull() if self.emitted else None

    def pull(self):
        while self.current is None or self.emitted >= self.current.id.index % self.node.modulus:
            self.before = self.input.cursor()
            self.current = self.input.pull()
            if self.current is None:
                self.emitted = 0
                return None
            self.emitted = self.current.emitted
        self.emitted += 1
        return child_of(self.current, self.emitted)

    def cursor(self):
        if self.current is None or self.emitted >= self.current.id.index % self.node.modulus:
            return {"input": self.input.cursor()}
        return {"input": self.before, "emitted": self.emitted}


def child_of(parent, ordinal: int):
    """Children are numbered from 1; children of children shift their parent's number up by 16 bits."""
    number = (parent.id.child << 16 | ordinal) & MASK32
    return replace(
        parent,
        id=replace(parent.id, child=number),
        key=replace(parent.key, child=number),
        value=(*parent.value, ordinal),
        emitted=0,
    )


class WindowStage(Stage):
    """Fill a window, deliver a slot drawn by the number of elements delivered, refill it; at the end the last moves in.

    The cursor is that of the oldest element held. To resume, the draws are replayed over ordinals only, which gives
    the inputs from there on that are still held, and their slots.
    """

    def setup(self, cursor):
        self.input = self.below(cursor.get("input"))
        self.emitted, self.read = cursor.get("emitted", 0), cursor.get("read", 0)
        self.held = []  # slots: (ordinal of the input, its cursor before it was pulled, the element)
        if self.read:
            self.restore()

    def draw(self, emitted: int, fill: int) -> int:
        epoch = self.epoch if self.node.again else 0
        return Key(seed_of(self.node), 0, SampleId(index=emitted, epoch=epoch)).below(0, fill)

    def restore(self):
        ordinals, upcoming = [], deque(range(self.read))
        for emitted in range(self.emitted + 1):
            while upcoming and len(ordinals) < self.node.window:
                ordinals.append(upcoming.popleft())
            if emitted < self.emitted:
                self.remove(
                    ordinals, self.draw(emitted, len(ordinals)), upcoming.popleft() if upcoming else None
                )
        elements = {}
        for ordinal in range(min(ordinals, default=self.read), self.read):
            before = self.input.cursor()
            elements[ordinal] = (ordinal, before, self.input.pull())
        self.held = [elements[ordinal] for ordinal in ordinals]

    @staticmethod
    def remove(slots: list, slot: int, refill):
        if refill is None:
            refill = slots.pop()
            if slot == len(slots):
                return
        slots[slot] = refill

    def next_input(self):
        before = self.input.cursor()
        element = self.input.pull()
        if element is None:
            return None
        self.read += 1
        return self.read - 1, before, element

    def pull(self):
        while len(self.held) < self.node.window and self.emitted == 0 and (more := self.next_input()):
            self.held.append(more)
        if not self.held:
            return None
        slot = self.draw(self.emitted, len(self.held))
        element = self.held[slot][2]
        self.remove(self.held, slot, self.next_input())
        self.emitted += 1
        return element

    def cursor(self):
        oldest = min(self.held, key=lambda h: h[0])[1] if self.held else self.input.cursor()
        return {"input": oldest, "emitted": self.emitted, "read": self.read}


class TakeStage(Stage):
    def setup(self, cursor):
        super().setup(cursor)
        self.taken = cursor.get("taken", 0)

    def pull(self):
        if self.taken == self.node.count or (element := self.input.pull()) is None:
            return None
        self.taken += 1
        return element

    def cursor(self):
        return {"input": self.input.cursor(), "taken": self.taken}


class SkipStage(Stage):
    def setup(self, cursor):
        super().setup(cursor)
        self.skipped = cursor.get("skipped", False)

    def pull(self):
        for _ in range(0 if self.skipped else self.node.count):
            self.input.pull()
        self.skipped = True
        return self.input.pull()

    def cursor(self):
        return {"input": self.input.cursor(), "skipped": self.skipped}


class RepeatStage(Stage):
    """Each pass is an epoch of the input; an endless repeat ends with a pass that yields nothing."""

    def setup(self, cursor):
        self.passed, self.yielded = cursor.get("pass", 0), "input" in cursor
        self.begin(cursor.get("input"))

    def begin(self, cursor):
        self.input = self.below(cursor, epoch=epoch_of_pass(self.epoch, self.node.times, self.passed))

    def pull(self):
        while (element := self.input.pull()) is None:
            if self.passed + 1 == self.node.times or self.node.times == 0 and not self.yielded:
                return None
            self.passed, self.yielded = self.passed + 1, False
            self.begin(None)
        self.yielded = True
        return element

    def cursor(self):
        return {"pass": self.passed, "input": self.input.cursor()}


class ConcatenateStage(Stage):
    def setup(self, cursor):
        self.second = cursor.get("second", False)
        self.input = self.below(cursor.get("input"), node=self.node.other if self.second else self.node.input)

    def pull(self):
        element = self.input.pull()
        if element is None and not self.second:
            self.second, self.input = True, self.below(None, node=self.node.other)
            element = self.input.pull()
        return element

    def cursor(self):
        return {"second": self.second, "input": self.input.cursor()}


class InterleaveStage(Stage):
    """The cursor: the slot whose turn it is, how much it gave in this turn, the next input, and the inputs in the slots."""

    def setup(self, cursor):
        self.begin(inputs(self.node), cursor)

    def begin(self, nodes, cursor):
        self.nodes = nodes
        self.turn, self.taken, self.coming = (cursor.get(w, 0) for w in ("turn", "taken", "coming"))
        slots = cursor.get("slots", [None] * min(self.node.cycle, len(self.nodes)))
        self.slots = [None if s is None else (s[0], self.below(s[1], node=self.nodes[s[0]])) for s in slots]

    def pull(self):
        while self.coming < len(self.nodes) or any(self.slots):
            if self.slots[self.turn] is None and self.coming < len(self.nodes):
                self.slots[self.turn] = (self.coming, self.below(None, node=self.nodes[self.coming]))
                self.coming += 1
            element = None
            if self.slots[self.turn] is not None:
                element = self.slots[self.turn][1].pull()
                if element is None:
                    self.slots[self.turn] = None
            self.taken += 1
            if element is None or self.taken == self.node.block:
                self.turn, self.taken = (self.turn + 1) % len(self.slots), 0
            if element is not None:
                return element
        return None

    def cursor(self):
        slots = [None if s is None else (s[0], s[1].cursor()) for s in self.slots]
        return {"turn": self.turn, "taken": self.taken, "coming": self.coming, "slots": slots}


class ReadersStage(Stage):
    """Readers in the order of the epoch. If all have random access, a position; else they take turns as streams."""

    def __new__(cls, node, *_):
        counted = all(map(is_indexed, node.readers))
        return super().__new__(CountedReaders if counted else TurnsOfReaders)


class CountedReaders(ReadersStage):
    """`even` holds where counts stay exact up to the end; with steps=, or behind a filter, a rank has its own elements."""

    def setup(self, cursor):
        self.position = cursor.get("position", 0)
        shard = files.share_of(self.node)
        evened = self.exact and getattr(shard, "steps", None) is None
        counts = files.share(self.node, self.epoch) if evened else files.own(self.node, self.epoch)
        self.count = counts[1] if evened else counts

    def pull(self):
        if self.position >= self.count:
            return None
        self.position += 1
        return files.element(self.node, self.position - 1, self.epoch, self.occurrence)

    def cursor(self):
        return {"position": self.position}


class TurnsOfReaders(ReadersStage, InterleaveStage):
    def setup(self, cursor):
        opened = files.openings(self.node, self.epoch)
        self.begin([files.reader_of(self.node, one) for one in opened], cursor)


class GenerateStage(Stage):
    def setup(self, cursor):
        self.position = cursor.get("position", 0)

    def pull(self):
        if self.position >= self.node.size:
            return None
        self.position += 1
        id = SampleId(self.position - 1, self.epoch, self.node.ordinal, self.occurrence)
        return Element(id, id, (self.position - 1,))

    def cursor(self):
        return {"position": self.position}


class TakeWhileStage(Stage):
    def setup(self, cursor):
        super().setup(cursor)
        self.ended = cursor.get("ended", False)

    def pull(self):
        element = None if self.ended else self.input.pull()
        if element is None or element.id.index % self.node.modulus == self.node.remainder:
            self.ended = self.ended or element is not None
            return None
        return element

    def cursor(self):
        return {"input": self.input.cursor(), "ended": self.ended}


class UniqueStage(Stage):
    """The cursor is the number of elements read: to resume, they are read again for their keys."""

    def setup(self, cursor):
        self.input, self.read, self.seen = self.below(None), cursor.get("read", 0), set()
        for _ in range(self.read):
            self.seen.add(self.input.pull().id.index % self.node.modulus)

    def pull(self):
        while (element := self.input.pull()) is not None:
            self.read += 1
            key = element.id.index % self.node.modulus
            if key not in self.seen:
                self.seen.add(key)
                return element
        return None

    def cursor(self):
        return {"read": self.read}


class ScanStage(Stage):
    def setup(self, cursor):
        super().setup(cursor)
        self.state = cursor.get("state", self.node.initial)

    def pull(self):
        element = self.input.pull()
        if element is None:
            return None
        self.state = scanned(self.state, element.id.index, element.carried)
        return replace(element, carried=self.state)

    def cursor(self):
        return {"input": self.input.cursor(), "state": self.state}


def scanned(state: int, index: int, carried: int) -> int:
    """The new state of a scan, which is also what it writes into the element."""
    return (3 * state + index + carried) % 1009


class GroupStage(Stage):
    """The cursor: that of the oldest element held, how many were read, and how many of each group are held.

    To resume, elements are read again from there on; of each group that many of the last are kept.
    """

    def setup(self, cursor):
        super().setup(cursor)
        self.held = {}  # group: [(ordinal, cursor before it was pulled, the element)]
        self.read, self.ended = cursor.get("first", 0), cursor.get("ended", False)
        while self.read < cursor.get("read", 0):
            group, item = self.next_input()
            kept = cursor["held"].get(str(group), 0)
            self.held[group] = [*self.held.get(group, []), item][-kept:] if kept else []

    def next_input(self):
        before = self.input.cursor()
        if (element := self.input.pull()) is None:
            return None
        self.read += 1
        length = element.id.index % self.node.modulus
        below = [b for b in self.node.boundaries or () if b <= length]
        return (length if self.node.boundaries is None else len(below)), (self.read - 1, before, element)

    def has_room(self, group, *more) -> bool:
        held = [e.id.index % self.node.modulus for _, _, e in self.held.get(group, [])]
        if not held:
            return True
        if self.node.token_budget:
            return (len(held) + 1) * max(1, *held, *more) <= self.node.token_budget
        sizes = self.node.sizes
        return len(held) < sizes[0 if len(sizes) == 1 else group]

    def give(self, group):
        return tuple(element for _, _, element in self.held.pop(group))

    def pull(self):
        while True:
            for group in self.held:
                if self.held[group] and not self.has_room(group):
                    return self.give(group)
            if self.ended or (found := self.next_input()) is None:
                self.ended = True
                left = sorted(g for g, held in self.held.items() if held)
                return None if not left or self.node.drop_last else self.give(left[0])
            group, item = found
            room = self.has_room(group, item[2].id.index % self.node.modulus)
            full = None if room else self.give(group)
            self.held.setdefault(group, []).append(item)
            if full:
                return full

    def cursor(self):
        held = {group: items for group, items in self.held.items() if items}
        oldest = min((items[0] for items in held.values()), default=None, key=lambda i: i[0])
        first, before = (oldest[0], oldest[1]) if oldest else (self.read, self.input.cursor())
        counts = {str(group): len(items) for group, items in held.items()}
        return {"input": before, "first": first, "read": self.read, "held": counts, "ended": self.ended}


def sequence_length(element) -> int:
    return 1 + element.id.index % 4


class PackStage(Stage):
    """A cursor before the first sequence of the current rows, and how many of these rows were handed out."""

    def setup(self, cursor):
        super().setup(cursor)
        self.waiting, self.rows, self.began = None, [], cursor.get("input", self.input.cursor())
        self.given = 0
        for _ in range(cursor.get("rows", 0)):
            self.pull()

    def next_input(self):
        before = self.input.cursor()
        element = self.input.pull()
        return None if element is None else (before, element)

    def put(self, bins, element) -> bool:
        n, node = sequence_length(element), self.node
        if n > node.length:
            raise ModelError("pack: a sequence is longer than a row")
        fitting = [
            b for b in bins if sum(map(sequence_length, b)) + n <= node.length and len(b) < (node.most or 99)
        ]
        if fitting:
            used = [sum(map(sequence_length, b)) for b in fitting]
            best = 0 if node.strategy == "first_fit" else used.index(max(used))
            fitting[best].append(element)
        elif len(bins) < node.bins:
            bins.append([element])
        else:
            return False
        return True

    def fill(self):
        bins = []
        self.given = 0
        self.began = self.waiting[0] if self.waiting else self.input.cursor()
        while (found := self.waiting or self.next_input()) is not None:
            self.waiting = None
            if not self.put(bins, found[1]):
                self.waiting = found
                break
        self.rows = [tuple(e for e in b for _ in range(sequence_length(e))) for b in bins]

    def pull(self):
        if self.given == len(self.rows):
            self.fill()
        if not self.rows:
            return None
        self.given += 1
        return self.rows[self.given - 1]

    def cursor(self):
        if self.given < len(self.rows):
            return {"input": self.began, "rows": self.given}
        return {"input": self.waiting[0] if self.waiting else self.input.cursor()}


class SplitStage(Stage):
    """concat_and_split: the cursor is that of the current sequence, and how much of it was handed out."""

    def setup(self, cursor):
        super().setup(cursor)
        self.current, self.offset, self.before = None, cursor.get("offset", 0), None

    def pull(self):
        row, pieces = [], 0
        while len(row) < self.node.length and pieces < (self.node.most or 99):
            if self.current is None:
                self.before = self.input.cursor()
                self.current = self.input.pull()
                if self.current is None:
                    break
            n = min(sequence_length(self.current) - self.offset, self.node.length - len(row))
            row += [self.current] * n
            pieces, self.offset = pieces + 1, self.offset + n
            if self.offset == sequence_length(self.current):
                self.current, self.offset = None, 0
        short = len(row) < self.node.length and self.current is None and pieces < (self.node.most or 99)
        return None if not row or short and self.node.drop_last else tuple(row)

    def cursor(self):
        if self.current is None:
            return {"input": self.input.cursor()}
        return {"input": self.before, "offset": self.offset}


class PairStage(Stage):
    """Two inputs; `cursors` are theirs."""

    def setup(self, cursor):
        first, other = cursor.get("inputs", (None, None))
        self.inputs = [self.below(first), self.below(other, node=self.node.other)]

    def cursors(self):
        return [i.cursor() for i in self.inputs]


class ZipStage(PairStage):
    def pull(self):
        first = self.inputs[0].pull()
        other = None if first is None else self.inputs[1].pull()
        return None if other is None else zipped(first, other)

    def cursor(self):
        return {"inputs": self.cursors()}


class TurnsStage(PairStage):
    """Mix and choose: an input reports its end when asked for more. Resuming replays this without data."""

    def setup(self, cursor):
        self.history = list(cursor.get("history", []))
        self.passes = [self.history.count((i, True)) for i in range(2)]
        self.turns, self.began = turns(self.node), False
        positions = iter(cursor.get("ends", []))
        for source, _ in self.history:
            self.turns.position = next(positions)
            self.turns.end(source)
        self.ends = list(cursor.get("ends", []))
        self.turns.position = cursor.get("position", 0)
        saved = cursor.get("inputs", (None, None))
        self.inputs = [self.begin(i, saved[i]) for i in range(2)]
        self.gave = list(cursor.get("gave", (False, False)))

    def begin(self, source, cursor=None):
        epoch = epoch_of_pass(self.epoch, 0, self.passes[source]) if self.node.stop == "cycle" else self.epoch
        return self.below(cursor, node=self.node.other if source else self.node.input, epoch=epoch)

    def pull(self):
        while (source := self.turns.next()) is not None:
            element = self.inputs[source].pull()
            if element is not None:
                self.gave[source] = True
                self.turns.gave()
                return element
            if self.node.stop == "cycle" and not self.gave[source]:
                raise ModelError("a dataset is empty and cannot begin again")
            self.ends.append(self.turns.position)
            again = self.turns.end(source)
            self.history.append((source, again))
            if again:
                self.passes[source] += 1
                self.inputs[source], self.gave[source] = self.begin(source), False
        return None

    def cursor(self):
        place = {"position": self.turns.position, "history": [*self.history], "ends": [*self.ends]}
        return place | {"inputs": self.cursors(), "gave": [*self.gave]}


class WindowRowsStage(Stage):
    """Windows over a stream: the cursor is that of the oldest row held, and the rows still to skip."""

    def setup(self, cursor):
        super().setup(cursor)
        self.held, self.ended, self.ahead = [], False, cursor.get("ahead", 0)

    def pull(self):
        while self.ahead and self.input.pull() is not None:
            self.ahead -= 1
        span = (self.node.size - 1) * self.node.stride + 1
        while len(self.held) < span and not self.ended:
            before = self.input.cursor()
            row = self.input.pull()
            self.ended = row is None
            self.held += [] if row is None else [(before, row)]
        if not self.held or self.node.drop_last and len(self.held) < span:
            return None
        rows = tuple(self.held[i][1] for i in window_rows(self.node, 0, len(self.held)))
        self.ahead = max(0, self.node.shift - len(self.held))
        del self.held[: self.node.shift]
        return rows

    def cursor(self):
        return {"ahead": self.ahead, "input": self.held[0][0] if self.held else self.input.cursor()}


class BatchStage(Stage):
    def pull(self):
        rows = []
        while len(rows) < self.node.size and (row := self.input.pull()) is not None:
            rows.append(row)
        short = len(rows) < self.node.size
        return None if not rows or short and self.node.drop_last else tuple(rows)


STAGES = {
    Shuffle: WindowStage,
    Map: MapStage,
    Filter: FilterStage,
    OnError: OnErrorStage,
    Unbatch: UnbatchStage,
    Take: TakeStage,
    Skip: SkipStage,
    Repeat: RepeatStage,
    Concatenate: ConcatenateStage,
    Interleave: InterleaveStage,
    Readers: ReadersStage,
    Generate: GenerateStage,
    TakeWhile: TakeWhileStage,
    Unique: UniqueStage,
    Scan: ScanStage,
    GroupBy: GroupStage,
    Batch: BatchStage,
    Pack: PackStage,
    Zip: ZipStage,
    Mix: TurnsStage,
    Choose: TurnsStage,
    Window: WindowRowsStage,
}
