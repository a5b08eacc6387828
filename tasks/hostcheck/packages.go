package hostcheck

import (
	"context"
	"strings"

	"deployer/engine"
	"deployer/tasks/packages"
	"deployer/tasks/row"
)

// installable wants packages that are there, or that a package source offers
// now. The sources are only asked when something is missing.
func installable(ctx context.Context, sys engine.System, names []string) row.Row {
	missing, err := packages.Missing(ctx, sys, names)
	switch {
	case err != nil:
		return row.Bad("install them by other means", "it cannot be told whether %s are installed: %v", strings.Join(names, ", "), err)
	case len(missing) == 0:
		return row.OK("all %d installed", len(names))
	}
	list := strings.Join(missing, ", ")
	sys.Progress("asking the package sources for " + list)
	if err := packages.Offered(ctx, sys, missing); err != nil {
		return row.Bad("give the host a package source that answers and has them, or install them in its image",
			"not installed: %s; and no package source offers them: %s", list, packages.Reason(err))
	}
	return row.OK("not installed yet: %s; a package source offers them", list)
}
