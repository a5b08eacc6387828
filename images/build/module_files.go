package build

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"deployer/images/imagefile"
)

// moduleFiles returns the files of the set's project, from the archive in Go's module cache,
// which go downloads when it is missing and compares with the go.sum of the set.
func (b *builder) moduleFiles(ctx context.Context, m module) (fs.FS, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if files, ok := b.moduleArchives[m.archiveKey()]; ok {
		return files, nil
	}
	pins, err := m.files()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "deployer-module-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, content := range pins {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	out, err := run(ctx, dir, []string{"GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local"}, "go", "mod", "download", "-json", m.path)
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w", m.path, err)
	}
	var found struct{ Path, Version, Zip string }
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("downloading %s: %w", m.path, err)
	}
	files, err := openModule(found.Zip, found.Path+"@"+found.Version)
	if err == nil {
		b.moduleArchives[m.archiveKey()] = files
	}
	return files, err
}

// openModule returns the files of a module's archive, whose names begin with its path and
// version. The archive is read into memory.
func openModule(archive, prefix string) (fs.FS, error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(strings.NewReader(string(content)), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	return fs.Sub(files, prefix)
}

// source adds a file, or all files below a directory, with that mode.
func (t tree) source(e imagefile.Entry, mode int64, files fs.FS, source string) error {
	drop, err := regexp.Compile(e.DropLines)
	if err != nil {
		return err
	}
	dropped := 0
	err = fs.WalkDir(files, source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := inTree(path.Join(e.Path, strings.TrimPrefix(name, source)))
		if entry.IsDir() {
			t.dir(target, 0o755)
			return nil
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if e.DropLines != "" {
			var n int
			content, n = withoutLines(content, drop)
			dropped += n
		}
		t.file(target, mode, content)
		return nil
	})
	if err == nil && e.DropLines != "" && dropped == 0 {
		err = fmt.Errorf("drop_lines: no line of %s matches %q", source, e.DropLines)
	}
	return err
}

// withoutLines returns content without the lines that match, and the number of those.
func withoutLines(content []byte, drop *regexp.Regexp) ([]byte, int) {
	var kept []byte
	n := 0
	for line := range strings.Lines(string(content)) {
		if drop.MatchString(strings.TrimSuffix(line, "\n")) {
			n++
			continue
		}
		kept = append(kept, line...)
	}
	return kept, n
}
