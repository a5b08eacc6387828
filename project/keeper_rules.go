package project

import (
	"deployer/cluster"
	"deployer/inventory"
	"deployer/keeper/maintenance"
	"deployer/keeper/maintenance/replace"
)

// readKeeperRules replaces the files with rules for the maintenance of nodes by their contents, which it
// checks. The contents become secrets of the inventory, because they may have tokens. A file that files may
// not open gives the placeholder. Its errors are cluster.Problems.
func readKeeperRules(inv *inventory.Inventory, s *cluster.KeeperSpec, files sourceFiles) error {
	var problems cluster.Problems
	for _, f := range []struct {
		setting string
		file    *string
		check   func(content []byte, source string) error
	}{
		{"profiles", &s.Profiles, func(content []byte, source string) error {
			_, err := maintenance.Load(content, source, anyVariable, nil)
			return err
		}},
		{"replacement", &s.Replacement, func(content []byte, source string) error {
			_, err := replace.Load(content, source, anyVariable)
			return err
		}},
	} {
		if *f.file == "" {
			continue
		}
		content, err := readBeside(inv, *f.file, files)
		if err == nil && content != placeholder {
			err = f.check([]byte(content), *f.file)
		}
		if err != nil {
			problems = append(problems, cluster.Problem{Code: "bad-keeper", Subject: "cluster.keeper." + f.setting, Message: err.Error()})
		}
		*f.file = content
		if content != placeholder {
			inv.AddSecret(content)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// anyVariable stands for the environment of the keeper, which the controller does not know.
func anyVariable(string) (string, bool) { return placeholder, true }
