package agent

import (
	"cmp"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptBinaries is the number of agent binaries that stay on a host: the running one
// and the one before, as two versions of deployer may be used in turn.
const keptBinaries = 2

// leftoverAge is the age after which a partially sent file counts as abandoned.
const leftoverAge = time.Hour

// removeOldBinaries removes all but the newest binaries from the agent's directory,
// never own, and the remains of broken transfers. removeOldBinaries does nothing when own is not
// named like a binary, for example in a developer's directory.
func removeOldBinaries(dir, own string) error {
	if !isDigest(own) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type aged struct {
		name string
		time time.Time
	}
	var programs []aged
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch name := e.Name(); {
		case isDigest(name) && name != own:
			programs = append(programs, aged{name, info.ModTime()})
		case isLeftover(name) && time.Since(info.ModTime()) > leftoverAge:
			errs = append(errs, os.Remove(filepath.Join(dir, name)))
		}
	}
	slices.SortFunc(programs, func(a, b aged) int { return cmp.Or(b.time.Compare(a.time), cmp.Compare(a.name, b.name)) })
	for _, old := range programs[min(len(programs), keptBinaries-1):] {
		errs = append(errs, os.Remove(filepath.Join(dir, old.name)))
	}
	return errors.Join(errs...)
}

func isDigest(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == 32
}

func isLeftover(name string) bool {
	return strings.HasPrefix(name, ".new") || strings.HasPrefix(name, ".try")
}
