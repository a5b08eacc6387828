package encryption

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// namePrefix is the beginning of the names of keys that rotations have made.
const namePrefix = "key-"

// nameTime is the form of the time in a name; names sort by it.
const nameTime = "20060102-150405"

// KeyName returns the name of a key that a rotation makes at a time.
func KeyName(now time.Time) string { return namePrefix + now.UTC().Format(nameTime) }

// KeyTime returns the time of [KeyName], false for other names.
func KeyTime(name string) (time.Time, bool) {
	t, err := time.Parse(namePrefix+nameTime, name)
	return t, err == nil
}

// Stage is the progress of a rotation, as a file shows it.
type Stage string

// The stages in their order.
const (
	Steady  Stage = "steady"  // one key
	Added   Stage = "added"   // a newer key does not encrypt yet
	Writing Stage = "writing" // the newest key encrypts, older ones are still there
)

// Stage returns the stage of the file; when its entries differ, the earliest one.
func (f *File) Stage() Stage {
	stage := Steady
	for _, e := range f.conf.Resources {
		keys := e.keys()
		switch {
		case len(keys) > 1 && newestFirst(keys)[0] != keys[0]:
			return Added
		case len(keys) > 1:
			stage = Writing
		}
	}
	return stage
}

// Rotatable returns an error when deployer cannot rotate the keys of the file.
func (f *File) Rotatable() error {
	for _, e := range f.conf.Resources {
		resources := strings.Join(e.Resources, ", ")
		switch provider := e.provider(); provider {
		case "secretbox", "aescbc", "aesgcm":
			if keys := e.keys(); len(keys) == 0 || slices.Contains(names(keys), "") {
				return fmt.Errorf("the provider %s of %s has a key without a name, or no key", provider, resources)
			}
		case "identity":
			return fmt.Errorf("%s are not encrypted: the first provider is identity", resources)
		case "kms":
			return fmt.Errorf("%s are encrypted by a KMS plugin: rotate the key in the key server, which writes no file of the masters", resources)
		default:
			return fmt.Errorf("deployer cannot rotate keys of the provider %q of %s", provider, resources)
		}
	}
	return nil
}

// ErrOlder reports that a key to add is older than a key of the file.
var ErrOlder = errors.New("the file has a newer key")

// Add returns the file with a new key behind the others of each entry. Add fails with
// ErrOlder when the name is not newer than that of each key.
func (f *File) Add(name string) (*File, error) {
	for _, old := range f.Keys() {
		if newer(old, name) >= 0 {
			return nil, fmt.Errorf("%w, %s", ErrOlder, old)
		}
	}
	return f.withKeys(func(e entry) ([]key, error) {
		made, err := newKey(name)
		return append(e.keys(), made), err
	})
}

// Promote returns the file with the newest key first: API servers with it encrypt with
// that key. Every API server must be able to read the key before.
func (f *File) Promote() (*File, error) {
	return f.withKeys(func(e entry) ([]key, error) { return newestFirst(e.keys()), nil })
}

// Drop returns the file with the first key of each entry only. etcd must hold no value of
// another one before.
func (f *File) Drop() (*File, error) {
	return f.withKeys(func(e entry) ([]key, error) { return e.keys()[:min(1, len(e.keys()))], nil })
}

// newestFirst sorts keys by age; keys of the same age keep their order.
func newestFirst(keys []key) []key {
	out := slices.Clone(keys)
	slices.SortStableFunc(out, func(a, b key) int { return newer(b.name, a.name) })
	return out
}
