package schedule

import "strings"

// addLines adds stdout_lines and stderr_lines to the output of a program: the lines of
// stdout and stderr without their ends. An empty text has no lines. The names and the
// rules are Ansible's.
func addLines(out map[string]any) {
	for _, name := range []string{"stdout", "stderr"} {
		text, ok := out[name].(string)
		if _, given := out[name+"_lines"]; ok && !given {
			out[name+"_lines"] = splitLines(text)
		}
	}
}

// lineEnds replaces every line end that Python's str.splitlines knows by a line feed.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func splitLines(text string) []any {
	lines := []any{}
	if text == "" {
		return lines
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(lineEnds.Replace(text), "\n"), "\n") {
		lines = append(lines, line)
	}
	return lines
}
