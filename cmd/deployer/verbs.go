package main

import "github.com/spf13/cobra"

// verbs returns all commands, in the order of the help.
func verbs(e env) []*cobra.Command {
	return []*cobra.Command{
		newInstallCommand(e),
		newScaleUpCommand(e),
		newScaleDownCommand(e),
		newResetCommand(e),
		newUpgradeCommand(e),
		newRollbackCommand(e),
		newCertsCommand(e),
		newEtcdCommand(e),
		newNetworkCommand(e),
		newKeeperCommand(e),
		newNodeCommand(e),
		newVerifyCommand(e),
		newStatusCommand(e),
		newDiagnoseCommand(e),
		newKubeconfigCommand(e),
		newRunCommand(e),
		newExecCommand(e),
		newDebugCommand(e),
		newFactsCommand(e),
		newGraphCommand(e),
		newPlanCommand(e),
		newApplyCommand(e),
		newCICommand(e),
		newRunsCommand(e),
		newResumeCommand(e),
		newRevertCommand(e),
		newValidateCommand(e),
		newExplainCommand(e),
		newInventoryCommand(e),
		newConvertCommand(e),
		newSecretsCommand(e),
		newSchemaCommand(e),
		newDocCommand(e),
		newArtifactsCommand(e),
		newImagesCommand(e),
		newVersionCommand(e),
		newDocsCommand(e),
	}
}
