"""The problem as text. Every value gets a statement, named after the module that computed it; what is
by element and used once stands in line with what uses it.
"""

import re

from import_graph import ADD, ATOM, POSTFIX, TYPES, Draw, Full, Leaf, Loop, Node, Part, number
from import_pointwise import spread_out

LONGEST_LINE = 88
HOLE = re.compile(r"\{(\d+)(?::(\d))?\}")


class Names:
    """Names that nothing else has, from whatever a module is called."""

    def __init__(self, reserved):
        self.used = set(reserved) | {"t"}
        self.counts = {}

    def new(self, wanted, numbered=False):
        base = re.sub(r"\W", "_", wanted).strip("_") or "v"
        if not base[0].isalpha() or base.lower().startswith("hone") or not base.isascii():
            base = "m" + "".join(c for c in base if c.isascii())
        base = base[:48]
        name = base if not numbered else base + "1"
        k = self.counts.get(base, 1)
        while name in self.used:
            k += 1
            name = f"{base}_{k}" if base[-1].isdigit() else f"{base}{k}"
        self.counts[base] = k
        self.used.add(name)
        return name


class Writer:
    def __init__(self, title, outputs, inputs, reserved, comments):
        self.outputs = outputs  # (name, node)
        self.names = Names(reserved)
        self.title = self.names.new(title)
        self.comments = comments
        self.given = inputs  # leaves in the order of the module
        self.names_of = {}  # node to its name
        self.users = {}
        self.dims = {}  # label to (name, size)

    # ---- which nodes

    def reachable(self):
        found, todo = {}, [n for _, n in self.outputs]
        while todo:
            n = todo.pop()
            if n.number in found:
                continue
            found[n.number] = n
            todo += n.args
        order = [found[k] for k in sorted(found)]
        for n in order:
            for a in n.args:
                self.users.setdefault(a.number, []).append(n)
        for _, n in self.outputs:
            self.users.setdefault(n.number, []).append(None)
        return order

    def stands_in_line(self, n):
        users = self.users.get(n.number, [])
        if isinstance(n, (Leaf, Loop, Part, Draw)) or len(users) != 1 or users[0] is None:
            return False
        user = users[0]
        if isinstance(user, Loop) or n.dtype != n.natural:
            return False
        place = user.args.index(n)
        if len(re.findall(r"\{%d[:}]" % place, user.text)) > 1:
            return False
        if not n.args or n.binds == POSTFIX:
            return True
        return n.elementwise and user.elementwise and n.path == user.path

    # ---- sizes and types

    def size(self, value):
        label = getattr(value, "label", None)
        if label is None or self.dims.setdefault(label, (None, int(value)))[1] != value:
            return str(int(value))
        if self.dims[label][0] is None:
            name = re.sub(r"\W", "_", label).upper().strip("_")
            name = name if name and name[0].isalpha() and name[0].isascii() else "N" + name
            self.dims[label] = (self.names.new(name), int(value))
        return self.dims[label][0]

    def type(self, n):
        if not n.shape:
            return TYPES[n.dtype]
        return f"{TYPES[n.dtype]}[{', '.join(self.size(s) for s in n.shape)}]"

    # ---- expressions

    def text(self, n, names):
        """The expression of a node: names where it has one, else in line."""

        def fill(match):
            a = n.args[int(match[1])]
            place = int(match[2] or 0)
            text, binds = names(a)
            return f"({text})" if binds < place else text

        return HOLE.sub(fill, n.text)

    def in_line(self, n):
        if n.number in self.names_of:
            return self.names_of[n.number], ATOM
        if isinstance(n, Full):
            n = spread_out(n, n.shape)
        return self.text(n, self.in_line), n.binds

    # ---- statements

    def input(self, leaf):
        word = "param" if leaf.is_param else "in"
        name = self.names_of[leaf.number]
        source = leaf.source
        head = f"{word} {name} : {self.type(leaf)}"
        if isinstance(source, Draw):
            return head + f" ~ {distribution(source)}"
        draws = {}

        def names(n):
            if isinstance(n, Draw):
                if n.number not in draws:
                    k = len(draws)
                    draws[n.number] = (self.names.new("u" if k == 0 else f"u{k + 1}"), n)
                return draws[n.number][0], ATOM
            if isinstance(n, Full):
                n = spread_out(n, n.shape)
            return self.text(n, names), n.binds

        text = names(source)[0]
        where = []
        for name, d in draws.values():
            alike = d.shape == leaf.shape and d.dtype == leaf.dtype
            where.append(f"{name}{'' if alike else ' : ' + self.type(d)} ~ {distribution(d)}")
        return f"{head} = {text}" + (f" where {', '.join(where)}" if where else "")

    def loop(self, n):
        words = {}

        def word(match):
            w = match[1]
            if w not in words:
                words[w] = self.names.new(w, numbered=True)
            return words[w]

        states = []
        for w, shape, start in n.states:
            name = word(re.match("(.*)", w))
            if shape is None:
                states.append(f"{name} = {self.in_line(n.args[start])[0]}")
            else:
                states.append(f"{name} : {TYPES[n.dtype]}[{', '.join(map(str, shape))}] = {number(start)}")
        steps = f"reversed({n.steps})" if n.reverse else str(n.steps)
        lines = [f"for t in {steps} with {', '.join(states)}:"]
        wanted = {user.word for user in self.users.get(n.number, [])}
        for line in n.lines:
            if line[1] in n.kept and line[1] not in wanted:
                continue
            text = HOLE.sub(lambda m: self.in_line(n.args[int(m[1])])[0], line)
            lines.append("    " + re.sub(r"\$(\w)", word, text))
        n.words = words
        return lines

    def name_inputs(self, order):
        used = [n for n in order if isinstance(n, Leaf)]
        used.sort(key=lambda n: (n.is_param, self.given.index(n)))
        for leaf in used:
            self.names_of[leaf.number] = self.names.new(leaf.name)
        return used

    def write(self):
        order = self.reachable()
        used = self.name_inputs(order)
        inputs = [self.input(leaf) for leaf in used]
        outputs, results = [], {}
        for wanted, n in self.outputs:
            name = self.names.new(wanted)
            outputs.append((name, n))
            if n.number not in results and not isinstance(n, (Leaf, Part)):
                results[n.number] = name
        body = []
        for n in order:
            body += self.statement(n, results)
        declared = [f"out {name} : {self.type(n)}" for name, n in outputs]
        for name, n in outputs:
            if self.names_of.get(n.number) != name:
                body.append(f"{name} = {self.in_line(n)[0]}")
        dims = [f"{name} = {size}" for name, size in self.dims.values() if name]
        lines = [f"# {c}" for c in self.comments] + [f"problem {self.title}"]
        lines += [f"dim {', '.join(dims[i : i + 6])}" for i in range(0, len(dims), 6)]
        self.out_names = [name for name, _ in outputs]
        self.in_leaves = used
        return "\n".join(lines + inputs + declared + body) + "\n"

    def statement(self, n, results):
        if isinstance(n, (Leaf, Draw)) or isinstance(n, Full) and n.number not in results:
            return []
        if isinstance(n, Loop):
            return self.loop(n)
        if isinstance(n, Part):
            self.names_of[n.number] = n.args[0].words[n.word]
            return []
        if n.number not in results and self.stands_in_line(n):
            if len(self.in_line(n)[0]) < LONGEST_LINE - 30:
                return []
        text = self.in_line(n)[0]
        name = results.get(n.number) or self.names.new(n.path or "v", numbered=not n.path)
        self.names_of[n.number] = name
        stored = f" : {TYPES[n.dtype]}" if n.dtype != n.natural and n.number not in results else ""
        return [f"{name}{stored} = {text}"]


def distribution(d):
    if d.distribution == "permutation" or not d.numbers:
        return d.distribution
    if d.distribution == "normal" and tuple(d.numbers) == (0, 1):
        return "normal"
    if d.distribution == "integers":
        return "integers(%d, %d)" % tuple(d.numbers)
    return f"{d.distribution}({', '.join(short(v) for v in d.numbers)})"


def short(v):
    return number(int(v)) if float(v) == int(v) else number(float("%.6g" % v))


__all__ = ["ADD", "Node"]
