package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Kept is what was at a path before a step replaced it. It is stored as JSON in
// runs/RUN/kept/STEP/N.json, and the content of a plain file beside it in
// N.data, where STEP is the escaped step id and N the escaped path.
type Kept struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
	// Mode has the type and permission bits of fs.FileMode.
	Mode    fs.FileMode `json:"mode,omitempty"`
	UID     int         `json:"uid,omitempty"`
	GID     int         `json:"gid,omitempty"`
	Size    int64       `json:"size,omitempty"` // bytes
	ModTime time.Time   `json:"mod_time,omitzero"`
	Link    string      `json:"link,omitempty"` // target of a symbolic link
}

// keep saves what is at path. What the step has kept before stays: a second try
// would keep what the first one left behind.
func (s *state) keep(run, step, path string) error {
	dir, err := s.runDir(run)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "kept", escape(step))
	base := filepath.Join(dir, escape(path))
	if _, err := os.Lstat(base + ".json"); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keeping %s: %w", path, err)
	}
	kept, err := describe(s.real(path))
	if err != nil {
		return fmt.Errorf("keeping %s: %w", path, err)
	}
	kept.Path = path
	if kept.Exists && kept.Mode.IsRegular() {
		if err := copyContent(s.real(path), base+".data"); err != nil {
			return fmt.Errorf("keeping %s: %w", path, err)
		}
	}
	meta, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	// The description comes last and at once: with it the keeping is complete.
	if err := writeSynced(base+".json.new", meta); err != nil {
		return fmt.Errorf("keeping %s: %w", path, err)
	}
	return os.Rename(base+".json.new", base+".json")
}

// escape makes one file name of a step id or a path. Names are at most 255
// bytes long, and ".json.new" must fit.
func escape(s string) string {
	name := url.QueryEscape(s)
	if name == "." || name == ".." {
		name = "%2E" + name[1:]
	}
	if len(name) > 240 {
		sum := digestOf([]byte(s))
		name = name[:170] + "-" + sum
	}
	return name
}

func describe(path string) (Kept, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{}, nil
	}
	if err != nil {
		return Kept{}, err
	}
	k := Kept{Exists: true, Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		k.UID, k.GID = int(st.Uid), int(st.Gid)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		k.Link, err = os.Readlink(path)
	}
	return k, err
}

// copyContent copies with copy_file_range, which Go uses for two files; file
// systems that can share the blocks do.
func copyContent(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
