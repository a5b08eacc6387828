package main

import "context"

// conversions compares what a playbook or role does on a host: Ansible runs the
// original with a local connection below a directory of the case's own, deployer runs
// the conversion below another one. The keys of the answers are files below that
// directory, and whether the play failed. A case with a file expressions.yaml compares
// expressions instead.
var conversions = Kind{
	Name: "conversions",
	Ansible: func(ctx context.Context, dir, work string) (Answer, error) {
		if isExpressions(dir) {
			return askExpressions(ctx, dir, work)
		}
		return playPlaybook(ctx, dir, work)
	},
	Deployer: func(ctx context.Context, dir, work string) (Own, error) {
		if isExpressions(dir) {
			return convertExpressions(dir)
		}
		return convertPlaybook(ctx, dir, work)
	},
}
