package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
)

// Limits of the backup of a removed directory: enough for configuration, not for data.
const (
	maxKeptFiles = 2000
	maxKeptBytes = 64 << 20
)

// listTree lists a directory and everything in it, entries before their directory: a
// revert works in reverse order and needs a directory before its files. tooMuch is
// the reason why there is no backup.
func listTree(sys engine.System, path string) (paths []string, tooMuch string, err error) {
	bytes := int64(0)
	root := sys.Path(path)
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		paths = append(paths, filepath.Join(path, strings.TrimPrefix(p, root)))
		if len(paths) > maxKeptFiles || bytes > maxKeptBytes {
			tooMuch = fmt.Sprintf("it has more than is kept: %d files or %d MiB", maxKeptFiles, maxKeptBytes>>20)
			return fs.SkipAll
		}
		return nil
	})
	for i, j := 0, len(paths)-1; i < j; i, j = i+1, j-1 {
		paths[i], paths[j] = paths[j], paths[i]
	}
	return paths, tooMuch, err
}

// backUpAll backs up a path with everything below it.
func backUpAll(sys engine.System, path string, info os.FileInfo) error {
	if !info.IsDir() {
		return sys.Backup(path)
	}
	paths, tooMuch, err := listTree(sys, path)
	if err != nil {
		return err
	}
	if tooMuch != "" {
		return sys.MarkIrreversible(path, tooMuch)
	}
	for _, p := range paths {
		if err := sys.Backup(p); err != nil {
			return err
		}
	}
	return nil
}
