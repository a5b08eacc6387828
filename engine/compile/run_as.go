package compile

import (
	"reflect"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/taskargs"
)

// runAs sets the user of a task's programs: become_user, or root or the login user by
// become, or else the agent's own. A task that does its work without programs, such as
// writing a file, always works as root; another user is an error there.
func (c *compiler) runAs(t *program.Task, own, effective inherited) {
	t.RunAs = effective.user
	if effective.become != nil && !*effective.become {
		t.RunAs = lang.ConstantText(t.Pos, engine.LoginUser)
	} else if effective.become != nil && t.RunAs == nil {
		t.RunAs = lang.ConstantText(t.Pos, root)
	}
	args := t.Kind.New()
	if _, ok := args.(engine.RunsPrograms); ok {
		return
	}
	user := t.RunAs
	t.RunAs = nil
	if t.Mode == program.OnController || user == nil || isRoot(user) {
		return
	}
	owner := taskargs.HasField(reflect.TypeOf(args), "owner")
	switch {
	case own.user != nil && owner:
		c.fail(own.user.Pos.Errorf("become_user: %s runs no programs: it writes files itself, as root; use owner:", t.Kind.Name))
	case own.user != nil:
		c.fail(own.user.Pos.Errorf("become_user: %s runs no programs that could run as another user; leave it out", t.Kind.Name))
	case own.become != nil && !*own.become:
		c.fail(t.Pos.Errorf("become: %s runs no programs: its work is done as root; leave become out%s", t.Kind.Name, orOwner(owner)))
	case owner && effective.user != nil:
		c.fail(t.Pos.Errorf("%s writes files itself, as root, and not as the become_user of %s; use owner:, and say become_user: root here", t.Kind.Name, effective.user.Pos))
	case owner:
		c.fail(t.Pos.Errorf("%s writes files itself, as root, although become is false around it; use owner:, and say become: true here", t.Kind.Name))
	}
}

const root = "root"

func isRoot(user *lang.Text) bool {
	name, constant := user.Constant()
	return constant && name == root
}

func orOwner(owner bool) string {
	if owner {
		return ", use owner:"
	}
	return ""
}
