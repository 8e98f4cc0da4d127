package sources

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterzone/clusterzone/zones"
)

// namespaceDomains are the domains that one namespace's names must lie in.
type namespaceDomains struct {
	rules []domainRule
	text  string // as people wrote them, for messages
}

const namespaceDomainsFlag = "--namespace-domains"

func (tr *Translator) compileNamespaceDomains() error {
	for _, value := range splitBlank(tr.options.NamespaceDomains) {
		namespace, list, ok := strings.Cut(value, "=")
		namespace = strings.TrimSpace(namespace)
		if !ok {
			return fmt.Errorf("%s=%s names no domain; write NAMESPACE=DOMAIN[,DOMAIN...], as in shop=shop.example.com", namespaceDomainsFlag, value)
		}
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return fmt.Errorf("%s=%s names no namespace; write NAMESPACE=DOMAIN[,DOMAIN...], as in shop=shop.example.com", namespaceDomainsFlag, value)
		}
		// The error of a domain names the value as it would stand on the command line.
		rules, err := parseDomains(namespaceDomainsFlag+"="+namespace, []string{list})
		if err != nil {
			return err
		}
		if len(rules) == 0 {
			return fmt.Errorf("%s=%s names no domain; write NAMESPACE=DOMAIN[,DOMAIN...], as in %s=shop.example.com", namespaceDomainsFlag, value, namespace)
		}
		if tr.namespaceDomains == nil {
			tr.namespaceDomains = make(map[string]*namespaceDomains)
		}
		domains := tr.namespaceDomains[namespace]
		if domains == nil {
			domains = &namespaceDomains{}
			tr.namespaceDomains[namespace] = domains
		}
		domains.rules = append(domains.rules, rules...)
		texts := make([]string, len(domains.rules))
		for i, rule := range domains.rules {
			texts[i] = rule.text
		}
		domains.text = some(texts)
	}
	return nil
}

// judgeNamespace says why objects of the namespace may not have the name n, or
// "". Namespaces that the flag doesn't list may have any.
func (tr *Translator) judgeNamespace(namespace string, n zones.Name) string {
	domains := tr.namespaceDomains[namespace]
	if domains == nil || slices.ContainsFunc(domains.rules, func(r domainRule) bool { return r.matches(n) }) {
		return ""
	}
	return fmt.Sprintf("namespace %s may have names in %s only (%s); choose a name there", namespace, domains.text, namespaceDomainsFlag)
}
