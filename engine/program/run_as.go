package program

import (
	"deployer/engine/lang"
)

// User returns the name of the user that the programs of the task run as; see
// engine.Command. The name is empty for the agent's own user. The caller has pushed the scopes.
func (t *Task) User(vars *lang.Vars) (string, error) {
	if t.RunAs == nil {
		return "", nil
	}
	name, err := t.RunAs.Value(vars)
	if err == nil && name == "" {
		return "", t.RunAs.Pos.Errorf("become_user is empty; name a user")
	}
	return name, err
}
