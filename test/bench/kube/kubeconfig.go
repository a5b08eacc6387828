package kube

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
)

// Config returns the configuration of a client of the API server at url as JSON, which YAML contains.
func Config(url string, ca []byte, identity *tls.Certificate) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(identity.PrivateKey)
	if err != nil {
		return nil, err
	}
	named := func(kind string, value any) []any { return []any{map[string]any{"name": "bench", kind: value}} }
	return json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "bench",
		"clusters": named("cluster", map[string]any{"server": url, "certificate-authority-data": ca}),
		"contexts": named("context", map[string]any{"cluster": "bench", "user": "bench"}),
		"users": named("user", map[string]any{
			"client-certificate-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: identity.Certificate[0]}),
			"client-key-data":         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		}),
	})
}
