// Package config reads the configuration of the keeper, which deployer install writes.
package config

import (
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/keeper/configfile"
	"deployer/tasks/certificate"
)

// Path is the path of the configuration on a master.
const Path = "/etc/deployer/keeper.yaml"

// File is the configuration of the keeper of one master.
type File struct {
	Host    string             `yaml:"host" required:"true" doc:"Name of the master."`
	Cluster string             `yaml:"cluster" required:"true" doc:"Name of the cluster."`
	Masters []string           `yaml:"masters" required:"true" doc:"Names of all masters, in inventory order."`
	API     API                `yaml:"api" required:"true" doc:"The API server of this master."`
	Etcd    Etcd               `yaml:"etcd" required:"true" doc:"The etcd cluster."`
	Own     Own                `yaml:"own" required:"true" doc:"What this master has."`
	Clients []Client           `yaml:"node_clients" doc:"Users whose certificates nodes renew that are no masters. Default: none."`
	Keeper  cluster.KeeperSpec `yaml:"keeper" required:"true" doc:"Settings of cluster.keeper."`
}

// API is how the keeper reaches the API server of its master.
type API struct {
	Server string `yaml:"server" required:"true" doc:"URL."`
	CA     string `yaml:"ca" required:"true" doc:"File with the authority of the server."`
	Cert   string `yaml:"cert" required:"true" doc:"File with the keeper's certificate."`
	Key    string `yaml:"key" required:"true" doc:"File with the keeper's key."`
}

// Client is a user of the API whose certificate each of some nodes has.
type Client struct {
	CN   string   `yaml:"cn" required:"true" doc:"Common name of the certificate."`
	Orgs []string `yaml:"orgs" doc:"Its organizations. Default: none."`
}

// Etcd is how the keeper reaches the members of etcd.
type Etcd struct {
	CA      string   `yaml:"ca" required:"true" doc:"File with the authority of the members."`
	Cert    string   `yaml:"cert" required:"true" doc:"File with the keeper's certificate."`
	Key     string   `yaml:"key" required:"true" doc:"File with the keeper's key."`
	Members []Member `yaml:"members" required:"true" doc:"Members by the inventory."`
}

// Member is a member of etcd.
type Member struct {
	Name    string `yaml:"name" required:"true" doc:"Name of the host."`
	Address string `yaml:"address" required:"true" doc:"Address and port for clients."`
	PeerURL string `yaml:"peer_url" required:"true" doc:"URL for other members."`
}

// Own is what the inventory gives this master.
type Own struct {
	Addresses    []string           `yaml:"addresses" required:"true" doc:"Addresses that its interfaces must have, the first is that of the node."`
	Certificates []certificate.Want `yaml:"certificates" required:"true" doc:"Certificates on it, as the task certificate takes them."`
	Authorities  []string           `yaml:"authorities" required:"true" doc:"Files with the certificates of authorities on it."`
	External     []string           `yaml:"external" required:"true" doc:"Names of authorities whose keys are not in the cluster."`
	RenewBefore  time.Duration      `yaml:"renew_before" required:"true" doc:"Remaining lifetime from which on a certificate is renewed."`
	LeafLifetime time.Duration      `yaml:"leaf_lifetime" required:"true" doc:"Lifetime of new certificates."`
	Backups      []Backups          `yaml:"backups" doc:"Scheduled snapshots. Default: none."`
	Etcd         *EtcdFiles         `yaml:"etcd" doc:"Files of its member of etcd. Default: it has no member."`
}

// EtcdFiles are the directories of a member of etcd.
type EtcdFiles struct {
	Dirs  []string `yaml:"dirs" required:"true" doc:"Directories that belong to etcd; the first has the data."`
	WAL   string   `yaml:"wal" required:"true" doc:"Directory of the write-ahead log."`
	Owner string   `yaml:"owner" required:"true" doc:"User of etcd."`
}

// Backups are the scheduled snapshots of an etcd cluster, of which one of the masters saves each.
type Backups struct {
	Of  string `yaml:"of" required:"true" doc:"Name of the etcd cluster: etcd or etcd-calico."`
	Dir string `yaml:"dir" required:"true" doc:"Directory with the snapshots."`

	Timer string `yaml:"timer" required:"true" doc:"Unit file of the timer that saves them."`
}

// Read reads a configuration. Its error names file, line and column.
func Read(path string) (File, error) {
	text, err := configfile.Read(path, "of the keeper")
	if err != nil {
		return File{}, err
	}
	return Parse(path, text)
}

// Parse returns the configuration in a text; path is its name in errors.
func Parse(path string, text []byte) (File, error) {
	var file File
	if err := configfile.Decode(path, text, &file); err != nil {
		return file, err
	}
	file.Keeper = file.Keeper.WithDefaults()
	if problems := cluster.CheckKeeper(file.Keeper); len(problems) > 0 {
		return file, fmt.Errorf("%s: %w", path, problems)
	}
	return file, nil
}
