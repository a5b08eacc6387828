package project

import (
	"os"
	"path/filepath"
	"strings"
)

// Absolute returns the absolute form of a path; an empty path stays empty.
func Absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Relative returns a path relative to the working directory when the file is below it,
// and the path unchanged otherwise. Messages show paths in this form.
func Relative(path string) string {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}
