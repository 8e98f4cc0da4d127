package script

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/manifest"
	"github.com/clusterzone/clusterzone/zones"
)

// crowdObjects are good objects, one of each common sort; NUMBER stands for the
// object's number. Each has one name, good-NUMBER.corp.test, and one address,
// 198.51.100.NUMBER.
var crowdObjects = []string{`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: crowd, name: good-NUMBER}
spec: {ingressClassName: public, rules: [{host: good-NUMBER.corp.test}]}
status: {loadBalancer: {ingress: [{ip: 198.51.100.NUMBER}]}}
`, `
apiVersion: v1
kind: Service
metadata:
  namespace: crowd
  name: good-NUMBER
  annotations: {external-dns.kubernetes.io/hostname: good-NUMBER.corp.test}
spec: {type: LoadBalancer}
status: {loadBalancer: {ingress: [{ip: 198.51.100.NUMBER}]}}
`, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: crowd, name: good-NUMBER}
spec: {gatewayClassName: acme, listeners: [{name: http, port: 80, protocol: HTTP}]}
status: {addresses: [{value: 198.51.100.NUMBER}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: crowd, name: good-NUMBER}
spec: {parentRefs: [{name: good-NUMBER}], hostnames: [good-NUMBER.corp.test]}
status: {parents: [{parentRef: {name: good-NUMBER}, controllerName: acme.test/edge, conditions: [{type: Accepted, status: "True"}]}]}
`, `
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {namespace: crowd, name: good-NUMBER}
spec: {hosts: [good-NUMBER.corp.test], backends: [{name: none, type: shunt}]}
status: {loadBalancer: {routegroup: [{hostname: lb-NUMBER.corp.test}]}}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {namespace: crowd, name: lb-NUMBER}
spec: {endpoints: [{dnsName: lb-NUMBER.corp.test, recordType: A, targets: [198.51.100.NUMBER]}]}
`, `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {namespace: crowd, name: good-NUMBER}
spec: {endpoints: [{dnsName: good-NUMBER.corp.test, recordType: A, targets: [198.51.100.NUMBER]}]}
`}

// crowd applies that many good objects, of all sorts in turn.
func (s *script) crowd(words []string) error {
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	var parts []string
	for i := range n {
		parts = append(parts, strings.ReplaceAll(crowdObjects[i%len(crowdObjects)], "NUMBER", strconv.Itoa(i)))
	}
	set, err := manifest.Load([]string{"-"}, bytes.NewReader([]byte(strings.Join(parts, "---"))))
	if err != nil {
		return err
	}
	if findings := set.Findings(); len(findings) > 0 {
		return findings[0]
	}
	set.Report(applier{s.stage})
	s.stage.crowded = n
	return s.stage.sync(nil)
}

// crowdAnswers asks for the name of every object of the crowd, and counts those
// that have their address and nothing else.
func (g *stage) crowdAnswers() (string, error) {
	right := 0
	for i := range g.crowded {
		questions, err := parseDig([]string{fmt.Sprintf("good-%d.corp.test", i), "A"})
		if err != nil {
			return "", err
		}
		reply, err := g.ask(questions[0])
		if err != nil {
			return "", err
		}
		if strings.Count(reply, " A ") == 1 && strings.HasSuffix(reply, fmt.Sprintf(" A 198.51.100.%d\n", i)) &&
			strings.HasPrefix(reply, server.Rcode(0).String()+" aa\n") {
			right++
		}
	}
	return fmt.Sprintf("%d of %d\n", right, g.crowded), nil
}

// reasons prints what the objects of one namespace asked for and do not get, and
// what is remarked on. Each that has no record must have exactly one reason.
func (g *stage) reasons(words []string) (string, error) {
	var lines []string
	var wrong []error
	g.view(func(table *zones.Table) {
		for id := range g.objects {
			info, ok := sources.Info(id.kind)
			if id.namespace != words[0] && (id.namespace != "" || words[0] != "-") || !ok || info.Source == "" {
				continue
			}
			owner := zones.Owner{Source: info.Source, Namespace: id.namespace, Name: id.name}
			skipped := table.SkippedOf(owner)
			object, _ := table.ObjectOf(owner)
			if len(skipped) != 1 {
				wrong = append(wrong, fmt.Errorf("%s has %d reasons and not one: %q (claims %+v)", owner, len(skipped), skipped, object.Claims))
				continue
			}
			skip := skipped[0]
			if explained := table.Explain(skip.Name, zones.TypeNone, nil).Skipped; skip.Name != "" && !slices.ContainsFunc(explained, func(x zones.ExplainedSkip) bool {
				return x.Object == owner.String() && x.Reason == skip.Reason && x.Message == skip.Message
			}) {
				wrong = append(wrong, fmt.Errorf("explain %s doesn't give the reason of %s: %+v", skip.Name, owner, explained))
			}
			lines = append(lines, fmt.Sprintf("%s [%s] %.150s", owner, skip.Reason, skip.Message))
		}
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n"), errors.Join(wrong...)
}
