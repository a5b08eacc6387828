package main

import (
	"context"
	"fmt"
	"path/filepath"

	"deployer/ansible/importer"
	"deployer/ansible/jinja"
	"deployer/inventory"
)

// inventories compares hosts, groups, logins and variables of an inventory: Ansible's
// from `ansible-inventory --list`, deployer's from the imported file, which is read back.
//
// A case holds one file named hosts or hosts.EXT with its group_vars and host_vars, or a
// directory inv, which is the inventory as a whole.
var inventories = Kind{Name: "inventories", Ansible: askInventory, Deployer: importInventory}

// inventoryPath returns the inventory of a case.
func inventoryPath(dir string) (string, error) {
	for _, pattern := range []string{"hosts*", "inv"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s holds neither one file hosts.* nor a directory inv", dir)
}

// importInventory imports the inventory and reads the result back.
func importInventory(_ context.Context, dir, _ string) (Own, error) {
	path, err := inventoryPath(dir)
	if err != nil {
		return Own{}, err
	}
	source, err := importer.Read(path)
	if err != nil {
		return refusal(err), nil
	}
	source.Translate = translateJinja
	result, err := source.Convert()
	if err != nil {
		return Own{}, err
	}
	inv, err := inventory.Parse("inventory.yaml", result.Text)
	if err != nil {
		return Own{}, fmt.Errorf("the imported inventory cannot be read: %w\n%s", err, result.Text)
	}
	own := Own{Answer: imported(inv, result), Same: sameTemplate}
	for _, n := range result.Notes {
		own.Notes = append(own.Notes, n.String())
	}
	own.Listed = func(key string, theirs, ours any) bool { return isListed(path, result, key, theirs, ours) }
	return own, nil
}

// refusal is the answer to an inventory that is not imported: the error lists it.
func refusal(err error) Own {
	return Own{Answer: Answer{}, Notes: []string{err.Error()}, Listed: func(string, any, any) bool { return true }}
}

func translateJinja(text string) (string, error) {
	out, problems := jinja.PlaybookText(text)
	if len(problems) > 0 {
		return "", problems[0].Err
	}
	return out, nil
}
