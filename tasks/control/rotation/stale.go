package rotation

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/cluster/encryption"
	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/etcd"
)

// maxNamed is the maximum number of objects that an error names.
const maxNamed = 5

// stale is the set of etcd keys whose values former encryption keys have encrypted.
type stale struct {
	keys     map[string]bool
	suffixes map[string]bool // the last part, and the last two parts, of each key
}

// scan reads all values of etcd and returns the stale ones. visit is called for every
// value and may be nil.
func scan(ctx context.Context, actx engine.ActionContext, file *encryption.File, visit func(key string, value []byte)) (*stale, error) {
	s := &stale{keys: map[string]bool{}, suffixes: map[string]bool{}}
	former := file.FormerPrefixes()
	err := etcd.EachValue(ctx, actx, func(key string, value []byte) {
		if visit != nil {
			visit(key, value)
		}
		if slices.ContainsFunc(former, func(prefix string) bool { return bytes.HasPrefix(value, []byte(prefix)) }) {
			s.add(key)
		}
	})
	return s, err
}

func (s *stale) add(key string) {
	s.keys[key] = true
	parts := strings.Split(key, "/")
	n := len(parts)
	s.suffixes[parts[n-1]] = true
	if n > 1 {
		s.suffixes[parts[n-2]+"/"+parts[n-1]] = true
	}
}

// mayHave reports whether the value of an object may be stale. Objects of different
// resources may share a suffix, so true may be wrong; it then costs one needless request.
func (s *stale) mayHave(namespace, name string) bool {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return s.suffixes[name]
}

// String returns the names of at most maxNamed keys.
func (s *stale) String() string {
	return shortlist.Names(slices.Sorted(maps.Keys(s.keys)), maxNamed)
}

// requireRewritten returns an error while etcd holds a stale value.
func requireRewritten(ctx context.Context, actx engine.ActionContext, file *encryption.File) error {
	found, err := scan(ctx, actx, file, nil)
	switch {
	case err != nil:
		return err
	case len(found.keys) > 0:
		return fmt.Errorf("the keys %s cannot be dropped: etcd holds %d objects that they have encrypted: %s; run the same command again to write these objects again", strings.Join(file.Keys()[1:], ", "), len(found.keys), found)
	}
	return nil
}
