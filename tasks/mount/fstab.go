package mount

import (
	"fmt"
	"strconv"
	"strings"
)

// line is a line of /etc/fstab; see fstab(5).
type line struct {
	src, path, fstype, opts string
	dump, passno            int
}

func (m *Mount) line() line {
	opts := m.Opts
	if opts == "" {
		opts = "defaults"
	}
	return line{m.Src, m.Path, m.Fstype, opts, m.Dump, m.Passno}
}

// Blanks inside of a field are escaped in octal.
var (
	escaper   = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`)
	unescaper = strings.NewReplacer(`\134`, `\`, `\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#")
)

// String returns the line without a line feed.
func (l line) String() string {
	return fmt.Sprintf("%s %s %s %s %d %d", escaper.Replace(l.src), escaper.Replace(l.path), escaper.Replace(l.fstype), escaper.Replace(l.opts), l.dump, l.passno)
}

// fields splits at blanks and tabs, as mount(8) does.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
}

// parse parses a line; false for comments and lines without a file system.
func parse(text string) (line, bool) {
	f := fields(text)
	if len(f) < 3 || strings.HasPrefix(f[0], "#") {
		return line{}, false
	}
	field := func(i int, otherwise string) string {
		if i < len(f) {
			return unescaper.Replace(f[i])
		}
		return otherwise
	}
	l := line{src: field(0, ""), path: field(1, ""), fstype: field(2, ""), opts: field(3, "defaults")}
	l.dump, _ = strconv.Atoi(field(4, "0")) // other texts count as 0, as for mount(8)
	l.passno, _ = strconv.Atoi(field(5, "0"))
	return l, true
}

// withLine replaces the first line for the same path, or appends the line. Equivalent
// lines and comments stay as they are written.
func withLine(table string, want line) string {
	var b strings.Builder
	placed := false
	for text := range strings.Lines(table) {
		have, ok := parse(text)
		switch {
		case !ok || have.path != want.path || have.fstype == "swap":
			b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		case placed: // a duplicate: mount uses the first line
		case have == want:
			b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
			placed = true
		default:
			b.WriteString(want.String() + "\n")
			placed = true
		}
	}
	if !placed {
		b.WriteString(want.String() + "\n")
	}
	return b.String()
}

// withoutLine removes all lines for the path.
func withoutLine(table, path string) string {
	var b strings.Builder
	for text := range strings.Lines(table) {
		if have, ok := parse(text); !ok || have.path != path {
			b.WriteString(text)
		}
	}
	return b.String()
}
