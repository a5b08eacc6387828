package sshconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Source is a configuration file. Sources are read in order, and the first value of a
// keyword wins.
type Source struct {
	Path string
	// Optional permits that the file does not exist.
	Optional bool
	// Dir is the directory of relative names in Include: ~/.ssh for a user's configuration,
	// /etc/ssh for the system's.
	Dir string
	// Home replaces ~ in Include.
	Home string
}

// Config is the parsed content of the sources.
type Config struct{ lines []line }

// line is a keyword with its arguments, or the lines of an Include.
type line struct {
	pos      Pos
	keyword  string // in lower case
	args     []string
	included []line
}

// Pos is a place in a file.
type Pos struct {
	File string
	Line int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Errorf makes an error that begins with the place.
func (p Pos) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", p, fmt.Errorf(format, args...))
}

// Read reads the files.
func Read(sources ...Source) (*Config, error) {
	c := &Config{}
	for _, s := range sources {
		lines, err := s.read(s.Path, 0)
		if s.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the SSH client configuration: %w", err)
		}
		// Each file is parsed like an Include at the top level, so that its last block ends with
		// it.
		c.lines = append(c.lines, line{keyword: "include", included: lines})
	}
	return c, nil
}

// maxDepth is the maximum nesting of Include, as in OpenSSH.
const maxDepth = 16

func (s Source) read(path string, depth int) ([]line, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: Include goes deeper than %d files", path, maxDepth)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []line
	n := 0
	for raw := range strings.Lines(string(text)) {
		n++
		l := line{pos: Pos{path, n}}
		l.keyword, l.args, err = split(raw)
		if err == nil && l.keyword == "include" {
			l.included, err = s.include(l.args, depth)
		}
		if err != nil {
			return nil, l.pos.Errorf("%w", err)
		}
		if l.keyword != "" {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// include reads the files of an Include. Patterns without a file are ignored, as by
// ssh(1).
func (s Source) include(names []string, depth int) ([]line, error) {
	var all []line
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(s.Home, rest)
		} else if !filepath.IsAbs(name) {
			name = filepath.Join(s.Dir, name)
		}
		paths, err := filepath.Glob(name)
		if err != nil {
			return nil, fmt.Errorf("the files of Include %s: %w", name, err)
		}
		for _, path := range paths {
			lines, err := s.read(path, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, line{keyword: "include", included: lines})
		}
	}
	return all, nil
}
