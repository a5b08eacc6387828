package project

import (
	"errors"
	"fmt"
	"strings"

	"deployer/cluster"
	"deployer/images"
	"deployer/inventory"
)

// readRegistryPasswords replaces password_file of the credentials of registries by the first
// line of the file, which becomes a secret of the inventory. A file that files may not open
// gives the placeholder. Its errors are cluster.Problems.
func readRegistryPasswords(inv *inventory.Inventory, spec *cluster.Spec, files sourceFiles) error {
	var problems cluster.Problems
	for name, c := range spec.Containerd.Credentials {
		if c.PasswordFile == "" {
			continue
		}
		password, err := readPassword(inv, c.PasswordFile, files)
		if c.Password != "" {
			err = errors.New("password and password_file exclude each other: remove one")
		}
		if err != nil {
			problems = append(problems, cluster.Problem{Code: "bad-credentials", Subject: "cluster.containerd.credentials." + name + ".password_file", Message: err.Error()})
			continue
		}
		inv.AddSecret(password)
		c.Password, c.PasswordFile = password, ""
		spec.Containerd.Credentials[name] = c
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// readPassword returns the first line of a file whose path is relative to the inventory. An
// empty line is an error.
func readPassword(inv *inventory.Inventory, file string, files sourceFiles) (string, error) {
	file, err := pathBeside(inv, file)
	if err != nil {
		return "", err
	}
	content, err := readBeside(inv, file, files)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	line, _, _ := strings.Cut(content, "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: its first line is empty: write the password there", file)
	}
	return line, nil
}

// registryLogins returns the credentials of the inventory with which deployer itself asks
// registries and mirrors.
func registryLogins(inv *inventory.Inventory, files sourceFiles) (images.Logins, error) {
	spec, err := ClusterSpec(inv)
	if err == nil {
		err = readRegistryPasswords(inv, &spec, files)
	}
	if err != nil {
		return nil, withPositions(inv, err)
	}
	out := images.Logins{}
	for name, c := range spec.Containerd.Credentials {
		out[name] = images.Login{Username: c.Username, Password: c.Password}
	}
	return out, nil
}
