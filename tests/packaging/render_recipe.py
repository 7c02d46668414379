"""What rattler-build makes of the conda recipe, without solving or building: one line for each package of a backend."""
import sys

import rattler_build as rb

platform = rb.PlatformConfig(target_platform="linux-64", build_platform="linux-64", host_platform="linux-64")
folder, backend = sys.argv[1:]
variants = rb.VariantConfig.from_file(folder + "/variants.yaml").to_dict()
variants["backend"] = [backend]
recipe = rb.Stage0Recipe.from_file(folder + "/recipe.yaml")
for package in recipe.render(rb.VariantConfig(variants), rb.RenderConfig(platform=platform)):
    r = package.recipe
    needs = r.requirements
    print(r.package.name, r.package.version, r.build.string, *needs.build, *needs.host, *needs.run)
