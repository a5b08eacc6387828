package project

import (
	"os"
	"path/filepath"
	"strings"
)

// Absolute is a path that means the same from any working directory; an empty
// one stays empty.
func Absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Relative is a path as seen from the working directory, when it is below that:
// messages then show what people would type.
func Relative(path string) string {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}
