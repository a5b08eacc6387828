package facts

import (
	"bufio"
	"strconv"
	"strings"

	"deployer/engine"
)

// release reads the name and version of the distribution from os-release(5).
func (h host) release(f *engine.Facts) {
	text := h.read("/etc/os-release")
	if text == "" {
		text = h.read("/usr/lib/os-release")
	}
	values := parseRelease(text)
	f.OS, f.OSVersion, f.OSLike = values["ID"], values["VERSION_ID"], strings.Fields(values["ID_LIKE"])
	f.OSName, f.OSCodename = values["PRETTY_NAME"], values["VERSION_CODENAME"]
}

// parseRelease parses the shell assignments of os-release. parseRelease supports the
// quoting that os-release(5) allows: single or double quotes around the whole value,
// and backslashes within.
func parseRelease(text string) map[string]string {
	values := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		values[key] = unquote(strings.TrimSpace(value))
	}
	return values
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		s = s[1 : len(s)-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// memory reads MemTotal and SwapTotal, in bytes; proc_meminfo(5). The file has
// them in kB, which means KiB there.
func (h host) memory() (total, swap int64) {
	for line := range strings.Lines(h.read("/proc/meminfo")) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		switch fields[0] {
		case "MemTotal:":
			total = n << 10
		case "SwapTotal:":
			swap = n << 10
		}
	}
	return total, swap
}
