package encryption_test

import (
	"crypto/aes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/storage/value"
	aestransformer "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
	"k8s.io/apiserver/pkg/storage/value/encrypt/secretbox"

	"deployer/cluster/encryption"
)

// TestReadable compares Readable with the transformers of the API server: a file
// reads the values for which it has the key, and no others.
func TestReadable(t *testing.T) {
	t.Parallel()
	const path = "/registry/secrets/default/web"
	secrets := map[string]string{"a": strings.Repeat("a", 32), "b": strings.Repeat("b", 32)}
	file := func(provider string, keys ...string) *encryption.File {
		var rows []string
		for _, k := range keys {
			name, secret, _ := strings.Cut(k, "=")
			rows = append(rows, fmt.Sprintf("{name: %s, secret: %s}", name, base64.StdEncoding.EncodeToString([]byte(secrets[secret]))))
		}
		return parse(t, fmt.Sprintf("kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - %s: {keys: [%s]}\n  - identity: {}\n", provider, strings.Join(rows, ", ")))
	}
	encrypt := func(provider, name, secret string) []byte {
		block, err := aes.NewCipher([]byte(secrets[secret]))
		if err != nil {
			t.Fatal(err)
		}
		var with value.Transformer
		switch provider {
		case "secretbox":
			with = secretbox.NewSecretboxTransformer([32]byte([]byte(secrets[secret])))
		case "aesgcm":
			if with, err = aestransformer.NewGCMTransformer(block); err != nil {
				t.Fatal(err)
			}
		case "aescbc":
			with = aestransformer.NewCBCTransformer(block)
		}
		out, err := with.TransformToStorage(t.Context(), []byte("k8s\x00a Secret"), value.DefaultContext(path))
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte("k8s:enc:"+provider+":v1:"+name+":"), out...)
	}
	for _, provider := range []string{"secretbox", "aesgcm", "aescbc"} {
		data := encrypt(provider, "key1", "a")
		for name, tt := range map[string]struct {
			file *encryption.File
			data []byte
			want error
		}{
			"the key that encrypted it":      {file(provider, "key1=a"), data, nil},
			"one of several keys":            {file(provider, "key2=b", "key1=a"), data, nil},
			"another key":                    {file(provider, "key2=a"), data, encryption.ErrUnknownKey},
			"another provider":               {file(map[string]string{"secretbox": "aesgcm", "aesgcm": "aescbc", "aescbc": "secretbox"}[provider], "key1=a"), data, encryption.ErrUnknownKey},
			"another key with the same name": {file(provider, "key1=b"), data, encryption.ErrWrongKey},
			"truncated value":                {file(provider, "key1=a"), data[:40], encryption.ErrWrongKey},
			"value without data":             {file(provider, "key1=a"), data[:len("k8s:enc:")+3], encryption.ErrUnknownKey},
			"not encrypted":                  {file(provider, "key2=b"), []byte("k8s\x00a Secret"), nil},
		} {
			if provider == "aescbc" && errors.Is(tt.want, encryption.ErrWrongKey) {
				continue // see below
			}
			if err := tt.file.Readable(path, tt.data); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("%s, %s: %v, want %v", provider, name, err, tt.want)
			}
		}
	}
	if err := file("aesgcm", "key1=a").Readable("/registry/secrets/default/other", encrypt("aesgcm", "key1", "a")); !errors.Is(err, encryption.ErrWrongKey) {
		t.Errorf("a value at another place: %v", err)
	}
	// A wrong key gives a right padding in one of 256 cases.
	wrong := 0
	for range 8 {
		if err := file("aescbc", "key1=b").Readable(path, encrypt("aescbc", "key1", "a")); errors.Is(err, encryption.ErrWrongKey) {
			wrong++
		}
	}
	if wrong < 4 {
		t.Errorf("aescbc: a wrong key is found in %d of 8 values", wrong)
	}
	kms := parse(t, "kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - kms: {name: vault, endpoint: unix:///x, apiVersion: v2}\n")
	if err := kms.Readable(path, []byte("k8s:enc:kms:v2:vault:data")); err != nil {
		t.Errorf("a key server: %v", err)
	}
}
