package keyring

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"deployer/cluster/encryption"
)

// newEncryption returns an encryption configuration with a new key.
func newEncryption() ([]byte, error) {
	f, err := encryption.New()
	if err != nil {
		return nil, err
	}
	return f.Bytes(), nil
}

// checkEncryption refuses a file that the API server would not start with.
func checkEncryption(data []byte) error {
	if _, err := encryption.Parse(data); err != nil {
		return fmt.Errorf("reading %s: %w; put the cluster's own file back on one master", EncryptionConf, err)
	}
	return nil
}

// mergeEncryption merges the configurations of masters that differ, as they do while a
// rotation of the key has reached some of them. mergeEncryption fails when they differ otherwise.
func mergeEncryption(held map[string]Files) ([]byte, error) {
	var files []*encryption.File
	for _, host := range slices.Sorted(maps.Keys(held)) {
		if len(bytes.TrimSpace(held[host][EncryptionConf])) == 0 {
			continue // absent, or cut short before the first byte
		}
		f, err := encryption.Parse(held[host][EncryptionConf])
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	merged, err := encryption.Merge(files)
	if err != nil {
		return nil, err
	}
	return merged.Bytes(), nil
}

// Encryption returns the encryption configuration.
func (k *Keys) Encryption() (*encryption.File, error) {
	return encryption.Parse(k.files[EncryptionConf])
}

// WithEncryption returns the keys with another encryption configuration.
func (k *Keys) WithEncryption(f *encryption.File) *Keys {
	other := *k
	other.files = k.files.Clone()
	other.files[EncryptionConf] = f.Bytes()
	return &other
}
