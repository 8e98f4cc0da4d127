package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide the text of --help may be.
const helpWidth = 100

// help writes what a command does, how it is called, and its flags.
func help(cmd *cobra.Command, _ []string) {
	var text strings.Builder
	text.WriteString(strings.TrimSpace(longText(cmd)) + "\n\nUsage:\n")
	if !cmd.HasParent() {
		text.WriteString("  clusterzone COMMAND [flags]\n\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&text, "  %-9s %s\n", sub.Name(), sub.Short)
			}
		}
		text.WriteString("\n\"clusterzone COMMAND --help\" shows the flags of a command.\n")
	} else {
		text.WriteString("  " + cmd.UseLine() + "\n" + flagGroups(cmd))
	}
	// A closed pipe (| head) is no fault.
	_, _ = io.WriteString(cmd.OutOrStdout(), text.String())
}

// externalHelp stands for the flags of external-dns that are not shown.
const externalHelp = `
Every other flag of external-dns is known too, and accepted or refused with a
reason: docs/migrating-from-external-dns.md lists them.
`

// flagGroups returns a command's flags under the headings of their subjects.
func flagGroups(cmd *cobra.Command) string {
	var text strings.Builder
	cmd.Flags().SortFlags = false
	for _, title := range []string{groupOutput, groupOrigin, groupZones, groupSources, groupServe, groupAnswers, groupClients, groupSecondaries, groupMirror, groupCloud, groupOps, groupGeneral} {
		set := pflag.NewFlagSet(title, pflag.ContinueOnError)
		set.SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if groups := f.Annotations[group]; len(groups) == 1 && groups[0] == title {
				set.AddFlag(f)
			}
		})
		if usage := set.FlagUsagesWrapped(helpWidth); usage != "" {
			text.WriteString("\n" + title + ":\n" + usage)
		}
	}
	if cmd.Flags().Lookup("aws-sd-service-cleanup") != nil {
		text.WriteString(externalHelp)
	}
	return text.String()
}

func longText(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short
}
