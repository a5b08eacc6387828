package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"deployer/test/lab/plan"
)

// state is the content of a lab's state.json.
type state struct {
	Name     string      `json:"name"`
	Image    string      `json:"image"`
	Hosts    []plan.Host `json:"hosts"`
	Tied     bool        `json:"tied"`     // goes when the process that made it is gone
	Complete bool        `json:"complete"` // every host was up once
}

// place holds the paths of labs' state. State lies in the user's cache, but labs
// belong to the machine: another user, or sudo with another home, has the same
// containers. So locks, and the path of each lab's state, are in one directory for
// all users, which, like the network namespaces, does not survive a reboot.
type place struct {
	cache string // a state directory for each lab that was created with this cache
	run   string // locks, and for each lab a link to its state directory
}

// defaultPlace returns $XDG_CACHE_HOME/deployer/lab, or ~/.cache/deployer/lab.
func defaultPlace() (place, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return place{}, fmt.Errorf("finding a place for the lab's state: %w", err)
	}
	return place{cache: filepath.Join(cache, "deployer", "lab"), run: "/run/deployer-lab"}, nil
}

// files returns the paths of a lab's files.
func (p place) files(lab string) plan.Files {
	if dir, err := os.Readlink(filepath.Join(p.run, lab)); err == nil {
		return plan.Files{Dir: dir}
	}
	return plan.Files{Dir: filepath.Join(p.cache, lab)}
}

// open creates the state directory and publishes its path.
func (p place) open(lab string) error {
	dir := filepath.Join(p.cache, lab)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the state directory: %w", err)
	}
	if err := os.MkdirAll(p.run, 0o755); err != nil {
		return fmt.Errorf("creating the state directory: %w", err)
	}
	if err := renameio.Symlink(dir, filepath.Join(p.run, lab)); err != nil {
		return fmt.Errorf("creating the state directory: %w", err)
	}
	return nil
}

// close removes the state directory and then its published path.
func (p place) close(lab string) error {
	if err := os.RemoveAll(p.files(lab).Dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.run, lab)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// work is the lock held while a lab is created or removed, owner the lock held by a tied
// lab's process during its life, image the lock of the image's builder. A dot keeps them
// apart from names of labs, which have none.
func (p place) work(lab string) string  { return filepath.Join(p.run, lab+".work") }
func (p place) owner(lab string) string { return filepath.Join(p.run, lab+".owner") }
func (p place) image() string           { return filepath.Join(p.run, ".image") }

// build is the directory in which the image is built.
func (p place) build() string { return filepath.Join(p.cache, ".image") }

// labs lists the labs with state or a lock.
func (p place) labs() ([]string, error) {
	var names []string
	for _, dir := range []string{p.cache, p.run} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing labs: %w", err)
		}
		for _, e := range entries {
			name, _, _ := strings.Cut(e.Name(), ".")
			if plan.CheckName(name) == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// load reads a lab's state. A missing or truncated state is an error that matches
// fs.ErrNotExist.
func (p place) load(lab string) (state, error) {
	text, err := os.ReadFile(p.files(lab).State())
	if err != nil {
		return state{}, fmt.Errorf("reading the state of lab %s: %w", lab, err)
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, fmt.Errorf("reading the state of lab %s: %w", lab, err)
	}
	return s, nil
}

func (p place) save(s state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the state of lab %s: %w", s.Name, err)
	}
	if err := renameio.WriteFile(p.files(s.Name).State(), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the state of lab %s: %w", s.Name, err)
	}
	return nil
}
