// Package config reads the configuration of the keeper, which deployer install writes.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/strictyaml"
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
	Keeper  cluster.KeeperSpec `yaml:"keeper" required:"true" doc:"Settings of cluster.keeper."`
}

// API is how the keeper reaches the API server of its master.
type API struct {
	Server string `yaml:"server" required:"true" doc:"URL."`
	CA     string `yaml:"ca" required:"true" doc:"File with the authority of the server."`
	Cert   string `yaml:"cert" required:"true" doc:"File with the keeper's certificate."`
	Key    string `yaml:"key" required:"true" doc:"File with the keeper's key."`
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

// maxSize is the maximum size of a configuration in bytes.
const maxSize = 1 << 20

// Read reads a configuration. Its error names file, line and column.
func Read(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration of the keeper: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration of the keeper: %w", err)
	}
	return Parse(path, text)
}

// Parse returns the configuration in a text; path is its name in errors.
func Parse(path string, text []byte) (File, error) {
	var file File
	var document yaml.Node
	err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&document)
	if errors.Is(err, io.EOF) {
		return file, fmt.Errorf("%s is empty: run deployer install", path)
	}
	if err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	if err := strictyaml.Decode(path, &document, &file); err != nil {
		return file, err
	}
	file.Keeper = file.Keeper.WithDefaults()
	if problems := cluster.CheckKeeper(file.Keeper); len(problems) > 0 {
		return file, fmt.Errorf("%s: %w", path, problems)
	}
	return file, nil
}
