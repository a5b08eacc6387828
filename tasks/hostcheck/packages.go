package hostcheck

import (
	"context"
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/packages"
)

// installable requires packages that are installed or that a package source offers now. It
// queries the sources only when a package is missing.
func installable(ctx context.Context, sys engine.System, names []string) checkresult.Row {
	missing, err := packages.Missing(ctx, sys, names)
	switch {
	case err != nil:
		return checkresult.Problem("install them by other means", "query installed packages (%s): %v", strings.Join(names, ", "), err)
	case len(missing) == 0:
		return checkresult.OK("all %d installed", len(names))
	}
	list := strings.Join(missing, ", ")
	sys.Progress("asking the package sources for " + list)
	if err := packages.Offered(ctx, sys, missing); err != nil {
		return checkresult.Problem("give the host a package source that answers and has them, or install them in its image",
			"not installed: %s; and no package source offers them: %s", list, packages.Reason(err))
	}
	return checkresult.OK("not installed yet: %s; a package source offers them", list)
}
