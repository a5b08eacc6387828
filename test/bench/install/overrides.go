package main

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v3"
)

// overrides are settings that hosts of a lab need beyond the defaults of the
// components. Both clusters take them from the lab's inventory, so that both run
// alike.
type overrides struct {
	Containerd map[string]any `yaml:"containerd"`
	Kubelet    map[string]any `yaml:"kubelet"`
	KubeProxy  map[string]any `yaml:"kube_proxy"`
}

func readOverrides(inventory string) (overrides, error) {
	content, err := os.ReadFile(inventory)
	if err != nil {
		return overrides{}, err
	}
	var file struct {
		Cluster struct {
			Overrides overrides `yaml:"overrides"`
		} `yaml:"cluster"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return overrides{}, fmt.Errorf("reading the lab's inventory %s: %w", inventory, err)
	}
	return file.Cluster.Overrides, nil
}
