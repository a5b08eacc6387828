package rotation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/cluster/encryption"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/kube"
)

// removeTimeout is the maximum time to remove the test Secrets, also after an interrupt.
const removeTimeout = 10 * time.Second

// Namespace and name prefix of the empty Secrets that tryKey writes, one through each API
// server.
const (
	tryNamespace = "kube-system"
	tryPrefix    = "deployer-encryption-test-"
)

// tryKey writes a Secret through the API server of each master. tryKey fails unless etcd has
// each Secret encrypted with the first key of file and every API server can read it. tryKey
// returns the stale objects. When file does not encrypt Secrets, tryKey writes none.
func tryKey(ctx context.Context, actx engine.ActionContext, file *encryption.File) (*stale, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(file.Resources(), func(r string) bool { return r == "secrets" || r == "*." || r == "*.*" }) {
		return scan(ctx, actx, file, nil)
	}
	access, err := kube.AccessOf(ctx, actx)
	if err != nil {
		return nil, err
	}
	written := map[string]string{} // prefixes of values, by master
	defer removeTries(ctx, actx, c.Masters)
	for _, master := range c.Masters {
		if err := writeTry(ctx, access, master, actx.RunID()); err != nil {
			return nil, fmt.Errorf("writing a Secret through the API server of %s: %w", master, err)
		}
	}
	current := file.CurrentPrefixes()
	found, err := scan(ctx, actx, file, func(key string, value []byte) {
		master, is := strings.CutPrefix(key[strings.LastIndex(key, "/")+1:], tryPrefix)
		if !is || !strings.Contains(key, "/secrets/"+tryNamespace+"/") {
			return
		}
		for _, prefix := range current {
			if bytes.HasPrefix(value, []byte(prefix)) {
				written[master] = prefix
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, master := range c.Masters {
		if written[master] == "" {
			return nil, fmt.Errorf("the API server of %s does not encrypt with the key %s: no key is dropped; run the same command again", master, file.Keys()[0])
		}
		if err := readTries(ctx, access, master, c.Masters); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func secretKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// writeTry writes the test Secret of a master through its API server.
func writeTry(ctx context.Context, access *kube.Access, master, run string) error {
	client, err := access.On(master)
	if err != nil {
		return err
	}
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": tryPrefix + master, "namespace": tryNamespace}}}
	if err := client.Create(ctx, secret); err != nil {
		return err
	}
	// A killed run may have left a Secret that another key has encrypted.
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"deployer/run":%q}}}`, run)
	_, err = client.Patch(ctx, secretKind(), tryNamespace, tryPrefix+master, []byte(patch), kube.Manager)
	return err
}

// readTries reads all test Secrets through the API server of a master.
func readTries(ctx context.Context, access *kube.Access, master string, writers []string) error {
	client, err := access.On(master)
	if err != nil {
		return err
	}
	for _, writer := range writers {
		if _, err := client.Get(ctx, secretKind(), tryNamespace, tryPrefix+writer); err != nil {
			return fmt.Errorf("the API server of %s does not read a Secret that the one of %s has written: %w", master, writer, err)
		}
	}
	return nil
}

// removeTries removes the test Secrets. When it cannot, the next run removes them.
func removeTries(ctx context.Context, actx engine.ActionContext, masters []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	client, err := kube.Open(ctx, actx)
	var errs []error
	for _, master := range masters {
		if err == nil {
			errs = append(errs, client.Delete(ctx, secretKind(), tryNamespace, tryPrefix+master, -1))
		}
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		actx.Progress("removing Secrets " + tryNamespace + "/" + tryPrefix + "*: " + err.Error())
	}
}
