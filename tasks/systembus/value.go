package systembus

import "encoding/binary"

// maxDepth is how deep values may lie in one another: as deep as the
// specification allows.
const maxDepth = 64

// decoder reads values one behind the other. Once something is bad, all that
// follows is empty.
type decoder struct {
	data  []byte
	at    int
	depth int
	bad   bool
}

// split takes the first complete type from a signature; "" when there is none.
func split(signature string) (first, rest string) {
	i := 0
	for i < len(signature) && signature[i] == 'a' {
		i++
	}
	for open := 0; i < len(signature); {
		switch signature[i] {
		case '(', '{':
			open++
		case ')', '}':
			open--
		}
		i++
		if open == 0 {
			return signature[:i], signature[i:]
		}
	}
	return "", ""
}

// alignment of a type by its first letter, in bytes.
func alignment(t byte) int {
	switch t {
	case 'y', 'g', 'v':
		return 1
	case 'n', 'q':
		return 2
	case 'x', 't', 'd', '(', '{':
		return 8
	}
	return 4
}

// value reads one of a complete type. Numbers become uint64, arrays, structs and
// pairs []any.
func (d *decoder) value(t string) any {
	if d.depth++; t == "" || d.depth > maxDepth {
		d.bad = true
	}
	defer func() { d.depth-- }()
	if d.bad {
		return nil
	}
	switch t[0] {
	case 'y', 'n', 'q', 'i', 'u', 'h', 'x', 't', 'd':
		return d.number(size(t[0]))
	case 'b':
		return d.number(4) != 0
	case 's', 'o':
		return d.text(int(d.number(4)))
	case 'g':
		return d.text(int(d.number(1)))
	case 'v':
		first, rest := split(d.text(int(d.number(1))))
		d.bad = d.bad || rest != ""
		return d.value(first)
	case 'a':
		return d.array(t[1:])
	case '(', '{':
		return d.members(t[1 : len(t)-1])
	}
	d.bad = true
	return nil
}

func size(t byte) int {
	if t == 'y' {
		return 1
	}
	return alignment(t)
}

func (d *decoder) array(element string) []any {
	n := int(d.number(4))
	d.align(alignment(element[0]))
	if n > len(d.data)-d.at {
		d.bad = true
	}
	end, all := d.at+n, []any{}
	for d.at < end && !d.bad {
		before := d.at
		all = append(all, d.value(element))
		d.bad = d.bad || d.at == before // of nothing there would be no end
	}
	return all
}

// members reads a struct or a pair. It always returns as many as there are types.
func (d *decoder) members(types string) []any {
	d.align(8)
	all := []any{}
	for first := ""; types != ""; {
		if first, types = split(types); first == "" {
			d.bad = true
			return append(all, nil, nil)
		}
		all = append(all, d.value(first))
	}
	return all
}

// align goes on to the next multiple of n, which is a power of two.
func (d *decoder) align(n int) {
	d.at = min((d.at+n-1)&^(n-1), len(d.data))
}

// number reads an unsigned one of n bytes, which it is aligned to.
func (d *decoder) number(n int) uint64 {
	d.align(n)
	var wide [8]byte
	copy(wide[:], d.take(n))
	return binary.LittleEndian.Uint64(wide[:])
}

// text reads n bytes and the zero behind them.
func (d *decoder) text(n int) string {
	b := d.take(n + 1)
	if d.bad {
		return ""
	}
	return string(b[:n])
}

// take returns the next n bytes, which are empty when there are not as many.
func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.data)-d.at {
		d.bad = true
		return nil
	}
	d.at += n
	return d.data[d.at-n : d.at]
}
