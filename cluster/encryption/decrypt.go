package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"
)

// prefix is the beginning of every value in etcd that an API server has encrypted.
const prefix = "k8s:enc:"

// Errors of [File.Readable].
var (
	// ErrUnknownKey reports that the file has no key of that provider and name.
	ErrUnknownKey = errors.New("the file has no such key")
	// ErrWrongKey reports that the key of that name is another one.
	ErrWrongKey = errors.New("the key of that name does not decrypt the value")
)

// Readable returns nil when API servers with this file can read a value of etcd: it is
// not encrypted, or one of the keys decrypts it. key is the key of the value in etcd, which
// aesgcm authenticates. Values of other providers than secretbox, aesgcm and aescbc need
// their key server, and count as readable when the file names the provider.
//
// The forms are those of k8s.io/apiserver pkg/storage/value/encrypt: secretbox and aesgcm
// begin with a nonce of 24 and 12 bytes and are authenticated; aescbc begins with a block,
// and a wrong key shows by its padding, in 255 of 256 cases.
func (f *File) Readable(key string, value []byte) error {
	if !bytes.HasPrefix(value, []byte(prefix)) {
		return nil
	}
	name, data := splitPrefix(value)
	known := false
	for _, e := range f.conf.Resources {
		for _, p := range e.Providers {
			for kind, settings := range p {
				if !strings.HasPrefix(name, prefix+kind+":") {
					continue
				}
				keys := keysOf(settings)
				if len(keys) == 0 {
					return nil // a key server has the key
				}
				for _, k := range keys {
					if name != prefix+kind+":v1:"+k.name+":" {
						continue
					}
					known = true
					if decrypts(kind, k, key, data) {
						return nil
					}
				}
			}
		}
	}
	if known {
		return fmt.Errorf("%s %w", strings.TrimSuffix(name, ":"), ErrWrongKey)
	}
	return fmt.Errorf("%s %w", strings.TrimSuffix(name, ":"), ErrUnknownKey)
}

// splitPrefix splits k8s:enc:PROVIDER:VERSION:KEY: from the data behind it.
func splitPrefix(value []byte) (string, []byte) {
	end := len(prefix)
	for range 3 {
		i := bytes.IndexByte(value[end:], ':')
		if i < 0 {
			return string(value[:end]), nil
		}
		end += i + 1
	}
	return string(value[:end]), value[end:]
}

// decrypts reports whether a key of a provider opens data.
func decrypts(provider string, k key, path string, data []byte) bool {
	secret, err := base64.StdEncoding.DecodeString(k.secret)
	if err != nil {
		return false
	}
	if provider == "secretbox" {
		return opensSecretbox(secret, data)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return false
	}
	switch provider {
	case "aesgcm":
		return opensGCM(block, path, data)
	case "aescbc":
		return opensCBC(block, data)
	}
	return false
}

func opensSecretbox(secret, data []byte) bool {
	if len(secret) != 32 || len(data) < 24 {
		return false
	}
	_, ok := secretbox.Open(nil, data[24:], (*[24]byte)(data[:24]), (*[32]byte)(secret))
	return ok
}

func opensGCM(block cipher.Block, path string, data []byte) bool {
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(data) < gcm.NonceSize() {
		return false
	}
	_, err = gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], []byte(path))
	return err == nil
}

func opensCBC(block cipher.Block, data []byte) bool {
	size := block.BlockSize()
	if len(data) < 2*size || len(data)%size != 0 {
		return false
	}
	out := make([]byte, len(data)-size)
	cipher.NewCBCDecrypter(block, data[:size]).CryptBlocks(out, data[size:])
	pad := int(out[len(out)-1])
	return pad > 0 && pad <= size && bytes.Equal(out[len(out)-pad:], bytes.Repeat([]byte{byte(pad)}, pad))
}
