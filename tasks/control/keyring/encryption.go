package keyring

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"sigs.k8s.io/yaml"
)

// The file of kube-apiserver's --encryption-provider-config, as far as deployer writes
// it: apiserver.config.k8s.io/v1, kind EncryptionConfiguration.
type encryptionConf struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	Resources  []encryptedResources `json:"resources"`
}

type encryptedResources struct {
	Resources []string         `json:"resources"`
	Providers []map[string]any `json:"providers"`
}

// newEncryption creates an encryption configuration with a new key.
//
// The provider is secretbox (XSalsa20-Poly1305, 32-byte key): among the providers
// without a key server, it is the one that the Kubernetes documentation ("Encrypting
// Confidential Data at Rest") calls strong and that needs no rotation after a number of
// writes; aescbc is open to padding oracles, and aesgcm must be rotated every 200000
// writes. identity comes last, so that secrets written before encryption was enabled
// stay readable.
func newEncryption() ([]byte, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the key for secrets at rest: %w", err)
	}
	named := map[string]any{"name": "key1", "secret": base64.StdEncoding.EncodeToString(key)}
	conf := encryptionConf{
		APIVersion: "apiserver.config.k8s.io/v1",
		Kind:       "EncryptionConfiguration",
		Resources: []encryptedResources{{
			Resources: []string{"secrets"},
			Providers: []map[string]any{
				{"secretbox": map[string]any{"keys": []any{named}}},
				{"identity": map[string]any{}},
			},
		}},
	}
	return yaml.Marshal(conf)
}

// checkEncryption refuses a file that the API server would not start with. It accepts
// other providers and resources, because the file may have been written by hand.
func checkEncryption(data []byte) error {
	var conf encryptionConf
	if err := yaml.Unmarshal(data, &conf); err != nil {
		return fmt.Errorf("reading %s: %w", EncryptionConf, err)
	}
	if conf.Kind != "EncryptionConfiguration" || len(conf.Resources) == 0 {
		return fmt.Errorf("%s is not an EncryptionConfiguration with at least one list of resources; put the cluster's own file back on one master", EncryptionConf)
	}
	return nil
}
