package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/cluster/encryption"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
)

// The keys that are read from a snapshot (k8s.io/kubernetes pkg/registry).
const (
	nodesPrefix = "/registry/minions/"
	// rootCA is a ConfigMap that the controller manager writes, with the certificate of the
	// authority that pods trust.
	rootCA = "/registry/configmaps/kube-system/kube-root-ca.crt"
)

// Content has the properties of a snapshot that a restore needs.
type Content struct {
	Revision  int64
	Keys      int               // that exist
	Encrypted int               // values that API servers have encrypted
	Other     string            // a key that an etcd cluster of events has not; empty without any
	Outside   string            // a key that an etcd cluster of Calico has not; empty without any
	PodCIDRs  map[string]string // ranges of the Node objects that have one, by name
}

// Read returns the content of the snapshot. Read fails when the keys of a cluster do
// not belong to it: the encryption configuration does not decrypt all values or, where none
// is encrypted, pods trust another authority than that of the keys. No keys (nil) belong to
// any snapshot.
func (f *File) Read(keys keyring.Files) (Content, error) {
	c := Content{PodCIDRs: map[string]string{}}
	var file *encryption.File
	if keys != nil {
		var err error
		if file, err = encryption.Parse(keys[keyring.EncryptionConf]); err != nil {
			return c, fmt.Errorf("reading the encryption configuration: %w", err)
		}
	}
	var unreadable []string // keys of etcd with the reason
	var trusted []byte
	revision, err := f.each(func(key string, value []byte) {
		c.Keys++
		if c.Other == "" && !isOfEvents(key) {
			c.Other = key
		}
		if c.Outside == "" && !strings.HasPrefix(key, calicoPrefix) {
			c.Outside = key
		}
		if strings.HasPrefix(key, nodesPrefix) {
			c.addNode(value)
		}
		if key == rootCA {
			trusted = value
		}
		if !bytes.HasPrefix(value, []byte("k8s:enc:")) {
			return
		}
		c.Encrypted++
		if file == nil {
			return
		}
		if err := file.Readable(key, value); err != nil {
			unreadable = append(unreadable, fmt.Sprintf("%s: %v", key, err))
		}
	})
	if err != nil {
		return c, err
	}
	c.Revision = revision
	if keys == nil {
		return c, nil
	}
	if len(unreadable) > 0 {
		slices.Sort(unreadable)
		return c, fmt.Errorf("the keys do not belong to the snapshot: they do not decrypt %d of its %d encrypted values, such as %s",
			len(unreadable), c.Encrypted, unreadable[0])
	}
	// Keys that decrypt are those of the cluster, whose authority may have been
	// rotated since.
	own, others := certificates(keys[keyring.ClusterCert]), certificates(trusted)
	if c.Encrypted == 0 && len(others) > 0 && !slices.ContainsFunc(own, func(o string) bool { return slices.Contains(others, o) }) {
		return c, fmt.Errorf("the keys do not belong to the snapshot: its cluster has the authority with the fingerprint %s, and the certificate of the keys has %s",
			strings.Join(others, ", "), strings.Join(own, ", "))
	}
	return c, nil
}

// addNode keeps the pod ranges of a Node object.
func (c *Content) addNode(value []byte) {
	raw, found := bytes.CutPrefix(value, []byte("k8s\x00"))
	var outer runtime.Unknown
	var node corev1.Node
	if !found || outer.Unmarshal(raw) != nil || node.Unmarshal(outer.Raw) != nil || kube.PodRangesOf(&node) == "" {
		return // encrypted, or of a form that no API server has written so far
	}
	c.PodCIDRs[node.Name] = kube.PodRangesOf(&node)
}

// certificates returns the fingerprints of the certificates in a text, or in an object that
// has them as text.
func certificates(text []byte) []string {
	const begin = "-----BEGIN CERTIFICATE-----"
	var out []string
	for {
		i := bytes.Index(text, []byte(begin))
		if i < 0 {
			return out
		}
		block, rest := pem.Decode(text[i:])
		if block == nil {
			return out
		}
		sum := sha256.Sum256(block.Bytes)
		out = append(out, "sha256:"+hex.EncodeToString(sum[:8]))
		text = rest
	}
}
