package keyring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// refuseNewEncryption returns an error when a new encryption key would be made
// for a cluster that may hold Secrets encrypted with another one, unless
// NewEncryptionKey allows it. A cluster without data in etcd holds none.
func (l *Load) refuseNewEncryption(actx engine.ActionContext, held map[string]Files, made []string) error {
	if l.NewEncryptionKey || !slices.Contains(made, EncryptionConf) {
		return nil
	}
	reason := l.dataInEtcd(actx, held)
	if reason == "" {
		return nil
	}
	return errors.New("no master holds " + EncryptionConf + " and " + reason + ", so Secrets may be encrypted with the key in it: " +
		"restore the file on one master, from a backup or from another master. If it is lost for good, " +
		"deployer install --new-encryption-key creates a new key; Secrets that were encrypted with the lost key cannot be read then: delete them and create them again")
}

// dataInEtcd returns the reason for which etcd may have data, "" when every member has
// registered that it has none. Without a resolved cluster, a cluster certificate on a
// master is that reason.
func (l *Load) dataInEtcd(actx engine.ActionContext, held map[string]Files) string {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok {
		for _, files := range held {
			if files[ClusterCert] != nil {
				return "a master holds " + ClusterCert
			}
		}
		return ""
	}
	var withData, unknown []string
	for _, peer := range c.Etcd.Peers {
		out := actionctx.Registered(actx, peer.Name, l.Etcd)
		switch exists, registered := out["exists"].(bool); {
		case !registered:
			unknown = append(unknown, peer.Name)
		case exists:
			withData = append(withData, peer.Name)
		}
	}
	if len(withData) > 0 {
		return fmt.Sprintf("etcd has data on %s", strings.Join(withData, ", "))
	}
	if len(unknown) > 0 {
		return fmt.Sprintf("the check of the etcd data has no result for %s", strings.Join(unknown, ", "))
	}
	return ""
}
