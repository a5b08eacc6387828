package archive

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// selection decides which members are unpacked, and under which names.
type selection struct {
	strip            int
	include, exclude []string
}

// place returns the path of a member relative to the target directory; empty for a member
// that is left out. A name that leads out of the directory is an error, because only a
// hostile archive has one.
func (s selection) place(name string) (string, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("the archive has a member %q, which leads out of the directory", name)
	}
	parts := strings.Split(strings.Trim(path.Clean("/"+name), "/"), "/")
	if len(parts) <= s.strip || parts[0] == "" {
		return "", nil
	}
	name = strings.Join(parts[s.strip:], "/")
	if len(s.include) > 0 && !matches(s.include, name) || matches(s.exclude, name) {
		return "", nil
	}
	return name, nil
}

// matches reports whether one of the patterns matches the name or a directory above it.
func matches(patterns []string, name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		for _, pattern := range patterns {
			if ok, _ := path.Match(strings.Trim(pattern, "/"), at); ok { // patterns were checked
				return true
			}
		}
	}
	return false
}

func validPatterns(what string, patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%s: %q: %w", what, p, err)
		}
	}
	return nil
}
