package fleet

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Tree describes all files of the host except the agent's own state: it maps each
// path to the mode and the content, or to the target of a link.
func (h *Host) Tree() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(h.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == h.Root {
			return err
		}
		name := strings.TrimPrefix(path, h.Root)
		if name == "/var/lib/deployer" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[name], err = describe(path, info)
		return err
	})
	return out, err
}

func describe(path string, info fs.FileInfo) (string, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return "-> " + to, err
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		return info.Mode().String() + " " + string(data), err
	}
	return info.Mode().String(), nil
}
