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
func (l *Load) refuseNewEncryption(site engine.ActionContext, held map[string]Files, made []string) error {
	if l.NewEncryptionKey || !slices.Contains(made, EncryptionConf) {
		return nil
	}
	reason := l.dataInEtcd(site, held)
	if reason == "" {
		return nil
	}
	return errors.New("no master holds " + EncryptionConf + " and " + reason + ", so Secrets may be encrypted with the key in it: " +
		"put the file back on one master, from a backup or from another master. If it is lost for good, " +
		"deployer install --new-encryption-key makes a new key; Secrets that were encrypted with the lost one cannot be read then, delete them and make them anew")
}

// dataInEtcd says why etcd may hold data; empty when every member said that it has
// none. Without a resolved cluster only the files that masters hold can tell.
func (l *Load) dataInEtcd(site engine.ActionContext, held map[string]Files) string {
	c, ok := engine.Service[*cluster.Cluster](site.Services())
	if !ok {
		for _, files := range held {
			if files[ClusterCert] != nil {
				return "a master holds " + ClusterCert
			}
		}
		return ""
	}
	var full, silent []string
	for _, peer := range c.Etcd.Peers {
		out := actionctx.Registered(site, peer.Name, l.Etcd)
		switch exists, said := out["exists"].(bool); {
		case !said:
			silent = append(silent, peer.Name)
		case exists:
			full = append(full, peer.Name)
		}
	}
	if len(full) > 0 {
		return fmt.Sprintf("etcd has data on %s", strings.Join(full, ", "))
	}
	if len(silent) > 0 {
		return fmt.Sprintf("%s did not say whether etcd has data there", strings.Join(silent, ", "))
	}
	return ""
}
