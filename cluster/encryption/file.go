// Package encryption has the rules for the file of kube-apiserver's
// --encryption-provider-config, and for the rotation of the keys in it.
//
// Every master has the file. An API server reads it when it starts, encrypts with the
// first key of the first provider, and decrypts with any key. A rotation leads the file
// through three changes, and all API servers run with one change before the next begins:
//
//	key1             steady
//	key1 key-T       [File.Add]      every API server can read the new key
//	key-T key1       [File.Promote]  every API server writes with the new key
//	key-T            [File.Drop]     after all objects were written again
//
// The order of the names shows how far a rotation has come ([File.Stage]), so the files on
// the masters are its whole state. Masters with different files are ordinary: [Merge]
// returns the file that is safe on all of them.
package encryption

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// configuration is apiserver.config.k8s.io/v1, kind EncryptionConfiguration.
type configuration struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Resources  []entry `json:"resources"`
}

// entry has the providers of some resources; the first one encrypts.
type entry struct {
	Resources []string         `json:"resources"`
	Providers []map[string]any `json:"providers"`
}

// key is a key of a provider, with the secret in base64.
type key struct{ name, secret string }

// File is a parsed configuration. File is immutable.
type File struct {
	conf configuration
	text []byte
}

// New returns a configuration with one new key, for Secrets.
//
// The provider is secretbox (XSalsa20-Poly1305, 32-byte key): among the providers
// without a key server, it is the one that the Kubernetes documentation ("Encrypting
// Confidential Data at Rest") calls strong and that needs no rotation after a number of
// writes; aescbc is open to padding oracles, and aesgcm must be rotated every 200000
// writes. identity comes last, so that secrets written before encryption was enabled
// stay readable.
func New() (*File, error) {
	first, err := newKey("key1")
	if err != nil {
		return nil, err
	}
	return render(configuration{
		APIVersion: "apiserver.config.k8s.io/v1",
		Kind:       "EncryptionConfiguration",
		Resources: []entry{{
			Resources: []string{"secrets"},
			Providers: []map[string]any{
				provider("secretbox", []key{first}),
				{"identity": map[string]any{}},
			},
		}},
	})
}

// newKey creates a key of 32 bytes, which secretbox, aescbc and aesgcm accept.
func newKey(name string) (key, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return key{}, fmt.Errorf("making the key for secrets at rest: %w", err)
	}
	return key{name, base64.StdEncoding.EncodeToString(secret)}, nil
}

// Parse reads a configuration. Parse fails for a file that the API server would not start
// with. Other providers and resources than those of [New] are accepted, because a file may
// have been written by hand.
func Parse(text []byte) (*File, error) {
	f := &File{text: text}
	if err := yaml.Unmarshal(text, &f.conf); err != nil {
		return nil, err
	}
	if f.conf.Kind != "EncryptionConfiguration" || len(f.conf.Resources) == 0 {
		return nil, errors.New("it is not an EncryptionConfiguration with at least one list of resources")
	}
	return f, nil
}

func render(conf configuration) (*File, error) {
	text, err := yaml.Marshal(conf)
	return &File{conf, text}, err
}

// Bytes returns the content of the file.
func (f *File) Bytes() []byte { return f.text }

// Resources returns the resources that the file names, as in "secrets" or "*.apps".
func (f *File) Resources() []string {
	var out []string
	for _, e := range f.conf.Resources {
		out = append(out, e.Resources...)
	}
	return out
}

// Keys returns the names of the keys of the first providers; the keys that encrypt come first.
func (f *File) Keys() []string {
	var first, others []string
	for _, e := range f.conf.Resources {
		for i, name := range names(e.keys()) {
			switch {
			case slices.Contains(first, name), slices.Contains(others, name):
			case i == 0:
				first = append(first, name)
			default:
				others = append(others, name)
			}
		}
	}
	return append(first, others...)
}

// CurrentPrefixes returns the prefixes of values in etcd that are encrypted with the keys
// with which the file encrypts.
func (f *File) CurrentPrefixes() []string {
	return f.prefixes(func(i int) bool { return i == 0 })
}

// FormerPrefixes returns the prefixes of values in etcd that are encrypted with keys that
// [File.Drop] removes.
func (f *File) FormerPrefixes() []string {
	return f.prefixes(func(i int) bool { return i > 0 })
}

// prefixes returns the prefixes of values for the selected keys of the first providers
// (k8s.io/apiserver pkg/server/options/encryptionconfig, config.go).
func (f *File) prefixes(selected func(int) bool) []string {
	var out []string
	for _, e := range f.conf.Resources {
		for i, k := range e.keys() {
			if text := prefix + e.provider() + ":v1:" + k.name + ":"; selected(i) && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// provider returns the name of the entry's first provider; empty for none.
func (e entry) provider() string {
	if len(e.Providers) == 0 {
		return ""
	}
	for name := range e.Providers[0] {
		return name
	}
	return ""
}

// keys returns the keys of the entry's first provider, none for a provider without keys.
func (e entry) keys() []key {
	if len(e.Providers) == 0 {
		return nil
	}
	return keysOf(e.Providers[0][e.provider()])
}

// keysOf returns the keys in the settings of a provider.
func keysOf(provider any) []key {
	settings, _ := provider.(map[string]any)
	rows, _ := settings["keys"].([]any)
	var out []key
	for _, row := range rows {
		fields, _ := row.(map[string]any)
		name, _ := fields["name"].(string)
		secret, _ := fields["secret"].(string)
		out = append(out, key{name, secret})
	}
	return out
}

// with returns the entry with other keys in its first provider.
func (e entry) with(keys []key) entry {
	if len(e.keys()) == 0 {
		return e
	}
	e.Providers = slices.Clone(e.Providers)
	e.Providers[0] = provider(e.provider(), keys)
	return e
}

// withKeys returns the file with other keys in the first provider of each entry.
func (f *File) withKeys(keys func(entry) ([]key, error)) (*File, error) {
	conf := f.conf
	conf.Resources = slices.Clone(conf.Resources)
	for i, e := range conf.Resources {
		changed, err := keys(e)
		if err != nil {
			return nil, err
		}
		conf.Resources[i] = e.with(changed)
	}
	return render(conf)
}

func provider(name string, keys []key) map[string]any {
	rows := []any{}
	for _, k := range keys {
		rows = append(rows, map[string]any{"name": k.name, "secret": k.secret})
	}
	return map[string]any{name: map[string]any{"keys": rows}}
}

func names(keys []key) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.name)
	}
	return out
}

// newer compares two names of keys by age. The names of rotations, key-TIME, sort by their
// time; any other name is older.
func newer(a, b string) int { return strings.Compare(age(a), age(b)) }

func age(name string) string {
	if strings.HasPrefix(name, namePrefix) {
		return name
	}
	return ""
}
