package encryption

import (
	"bytes"
	"errors"
	"slices"

	"sigs.k8s.io/yaml"
)

// ErrDifferent reports files that differ in more than the keys of a rotation.
var ErrDifferent = errors.New("the files differ in more than the keys of a rotation")

// Merge returns the file for masters whose files differ. Merge is safe on each of them, at
// any moment and in any order:
//
//   - it has every key of every file, so that no key disappears with which an object may
//     be encrypted;
//   - it encrypts with a key that every file has, so that no API server writes values
//     that another one cannot read; among these, with the newest that some file encrypts with.
//
// Merge fails with ErrDifferent when the files have other resources or providers, or
// different keys of the same name.
func Merge(files []*File) (*File, error) {
	first := files[0]
	for _, f := range files[1:] {
		if !bytes.Equal(f.skeleton(), first.skeleton()) {
			return nil, ErrDifferent
		}
	}
	at := -1
	merged, err := first.withKeys(func(entry) ([]key, error) {
		at++
		var lists [][]key
		for _, f := range files {
			lists = append(lists, f.conf.Resources[at].keys())
		}
		return mergeKeys(lists)
	})
	if err != nil {
		return nil, err
	}
	// A file with the same keys keeps its content.
	for _, f := range files {
		if same, err := render(f.conf); err == nil && bytes.Equal(same.text, merged.text) {
			return f, nil
		}
	}
	return merged, nil
}

// Dropping returns the file of the last step, [File.Drop], when the files of the
// masters show that a rotation has begun this step: some master has that file
// already, and all encrypt with its keys. Then all API servers run with the step
// before. The file is safe when etcd holds no value of another key, in spite of
// [Merge], which returns to the step before.
func Dropping(files []*File) (*File, bool) {
	if len(files) == 0 {
		return nil, false
	}
	merged, err := Merge(files)
	if err != nil || merged.Stage() != Writing {
		return nil, false
	}
	last, err := merged.Drop()
	if err != nil {
		return nil, false
	}
	begun := false
	for _, f := range files {
		if dropped, err := f.Drop(); err != nil || !bytes.Equal(dropped.text, last.text) {
			return nil, false
		}
		begun = begun || f.Stage() == Steady
	}
	return last, begun
}

// skeleton returns the file without the keys of the first providers.
func (f *File) skeleton() []byte {
	conf := f.conf
	conf.Resources = slices.Clone(conf.Resources)
	for i, e := range conf.Resources {
		conf.Resources[i] = e.with(nil)
	}
	text, _ := yaml.Marshal(conf) // what was unmarshalled can be marshalled
	return text
}

func mergeKeys(lists [][]key) ([]key, error) {
	var all, firsts, common []key
	for _, list := range lists {
		for i, k := range list {
			at := slices.IndexFunc(all, func(other key) bool { return other.name == k.name })
			switch {
			case at < 0:
				all = append(all, k)
			case all[at].secret != k.secret:
				return nil, ErrDifferent
			}
			if i == 0 {
				firsts = append(firsts, k)
			}
		}
	}
	for _, k := range all {
		if !slices.ContainsFunc(lists, func(list []key) bool { return !slices.Contains(list, k) }) {
			common = append(common, k)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	write := all
	for _, candidates := range [][]key{intersection(firsts, common), common, firsts} {
		if len(candidates) > 0 {
			write = candidates
			break
		}
	}
	chosen := newestFirst(write)[0]
	others := slices.DeleteFunc(newestFirst(all), func(k key) bool { return k == chosen })
	return append([]key{chosen}, others...), nil
}

func intersection(a, b []key) []key {
	return slices.DeleteFunc(slices.Clone(a), func(k key) bool { return !slices.Contains(b, k) })
}
