package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/tasks/control/keyring"
	"deployer/test/bench/kube"
	"deployer/test/fleet"
)

//go:embed upgrade.yaml
var playbook []byte

// The files that a controller needs, in one directory.
const (
	inventoryFile = "inventory.yaml"
	playbookFile  = "upgrade.yaml"
	sshConfigFile = "ssh_config"
)

// masterName is the host that stands for the master: its loopback has the API server.
const masterName = "m1"

// zoneLabel is the label of the failure domain of a node (k8s.io/api, LabelTopologyZone).
const zoneLabel = "topology.kubernetes.io/zone"

// podCIDR has a range of 256 addresses for each of 2048 nodes.
const podCIDR = "10.128.0.0/13"

// hostName returns the name of the i-th host of the fleet: the master, then the minions.
func hostName(i int) string {
	if i == 0 {
		return masterName
	}
	return fmt.Sprintf("n%04d", i)
}

// zoneOf returns the zone of the i-th minion, from 1.
func (o options) zoneOf(i int) string { return fmt.Sprintf("zone-%c", 'a'+(i-1)%o.zones) }

// writeSite writes the inventory of a fleet and the playbook to a directory.
func (o options) writeSite(f *fleet.Fleet, dir, health string, apiPort int) error {
	minions := fmt.Sprintf("n[0001:%04d]", o.nodes)
	doc := f.Document(fleet.Site{
		Forks:   o.batch,
		MaxFail: map[string]string{"minion": "5%"},
		Vars: map[string]any{
			"version": newVersion, "health": health, "batch": o.batch, "zone_limit": o.zoneLimit, "max_fail": "5%",
			"canary": o.canaries(),
		},
	})
	doc["cluster"] = map[string]any{"name": "bench", "kubernetes": kube.KubernetesVersion, "pod_cidr": podCIDR, "api": map[string]any{"port": apiPort}}
	doc["roles"] = map[string]any{"master": []string{masterName}, "minion": []string{minions}}
	doc["ssh"].(map[string]any)["config"] = sshConfigFile
	hosts, sshConfig := doc["hosts"].(map[string]any), ""
	for i, h := range f.Hosts {
		host, address := hosts[h.Name].(map[string]any), clusterAddress(h)
		host["address"] = address
		sshConfig += fmt.Sprintf("Host %s\n  HostName %s\n", address, h.Address)
		if i > 0 {
			host["labels"] = map[string]string{zoneLabel: o.zoneOf(i)}
		}
	}
	inventory, err := yaml.Marshal(doc)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{inventoryFile: inventory, playbookFile: playbook, sshConfigFile: []byte(sshConfig)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// clusterAddress returns the address that a host has in the cluster, where loopback is
// refused. OpenSSH's configuration leads from it to the fleet's address; nothing is ever
// sent to it.
func clusterAddress(h *fleet.Host) string { return "10" + strings.TrimPrefix(h.Address, "127") }

// writeKeys gives the master the keys of the cluster, from which controllers make their own
// certificates.
func writeKeys(master *fleet.Host, keys *keyring.Keys) error {
	for path, content := range keys.Files() {
		path = filepath.Join(master.Root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
