package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// known is a directory with the newest state of each cluster that this machine has read or
// written, outside of the repository: whoever can set a ref back to an earlier authentic state, or
// delete it, is found out. Its files are those of the refs; an empty name is that of no directory.
type known string

func (k known) path(inventory string) string { return filepath.Join(string(k), refName(inventory)) }

// get returns the newest state of a cluster that is known; nil for none.
func (k known) get(inventory string) (*SignedState, error) {
	if k == "" {
		return nil, nil
	}
	data, err := os.ReadFile(k.path(inventory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := parseState(data)
	if err = errors.Join(err, s.invalid); err != nil {
		return nil, fmt.Errorf("reading the newest known state of %s: %w; if the file is damaged, remove it: %s", inventory, err, k.path(inventory))
	}
	return &s, nil
}

// put remembers a state.
func (k known) put(s SignedState) error {
	if k == "" {
		return nil
	}
	if err := os.MkdirAll(string(k), 0o700); err != nil {
		return err
	}
	return replaceFile(k.path(s.Inventory), string(s.raw))
}

// inventories returns the clusters that are known.
func (k known) inventories() (out []string, err error) {
	if k == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(string(k))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		inventory, nameErr := inventoryOf(e.Name())
		if nameErr != nil || refName(inventory) != e.Name() {
			continue // a temporary file
		}
		out = append(out, inventory)
	}
	return out, err
}
